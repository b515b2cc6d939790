/* run_progress.h: the content of GET /progress: state, counters, throughput over a sliding window,
 * time left. Time is an argument. Used by the coordinator only. */
#pragma once

#include "agent/launch/pod/output_tail.h"
#include "agent/score/ledger/ledger.h"
#include "agent/score/log/commit.h"
#include "lib/tree.h"

enum run_progress_state {
    PROGRESS_LISTING,
    PROGRESS_RUNNING,
    PROGRESS_JOINING,
    PROGRESS_SUCCEEDED,
    PROGRESS_FAILED,
    PROGRESS_STATE_COUNT
};

enum { PROGRESS_WINDOW_MS = 30000, PROGRESS_SAMPLES = 64 };

struct run_progress_sample {
    int64_t time_ms, items;
};

struct run_progress {
    enum run_progress_state state;
    char message[512]; /* one line, cause first */
    /* The program's output of the first failed mini-batch with output; or "". */
    char failed_log[OUTPUT_TAIL_TEXT_BYTES + 1];
    const json_t *outputs;
    json_t *retired;       /* owned: see retired.h; NULL: nothing */
    json_t *metrics;       /* owned: "WORKER BEGAN" -> its last metrics (request_metrics.h); NULL:
                              none; "gone" -> the sum of some that have no entry of their own */
    json_t *connected;     /* owned: WORKER -> its process in metrics; NULL: none */
    bool lacks_metrics;    /* there are too many workers: some are not counted */
    int64_t tokens_before; /* of earlier coordinators */
    const json_t *prices;  /* spec.scorer.endpoint.cost; NULL: none */
    json_t *lost;          /* owned: what the outputs lack, see media.h; NULL: nothing */
    struct commit_trouble trouble;
    const char *summary; /* spec path; NULL: not written */
    bool knows_storage;  /* the output is open, so `excludes` is valid */
    bool excludes; /* the output's storage creates objects exclusively: of two coordinators only one
                      can commit */
    int64_t kept;  /* results that this coordinator has stored */
    int64_t left_kept, left_ms;   /* as the termination message says it, and since when */
    char rerun[400];              /* what a rerun has found; "" until its list is complete */
    int64_t items_kept;           /* of a rerun: with results of earlier runs; not in the counts */
    int64_t items_left_out;       /* names of the input (input.h) */
    int64_t items_before;         /* done by earlier coordinators; excluded from the rate */
    int64_t started_ms, ended_ms; /* first lease, last result; -1: not yet */
    struct run_progress_sample samples[PROGRESS_SAMPLES]; /* oldest first */
    int sample_count;
};

void run_progress_init(struct run_progress *progress);
void run_progress_release(struct run_progress *progress);
const char *run_progress_state_name(enum run_progress_state state); /* "Listing", ... */

/* The first lease was granted. */
void run_progress_start(struct run_progress *progress, int64_t now_ms);
/* A result came: `items` items in total are done now. Fewer than before means that results were
 * lost; the rate then starts over. */
void run_progress_add(struct run_progress *progress, int64_t items, int64_t now_ms);

/* Keeps a copy of what the outputs lack (a join changes the listing's in another thread), and logs
 * it if it is new. */
void run_progress_lose(struct run_progress *progress, const json_t *lost);
/* Adds a row to it, unless it has one about this. */
void run_progress_lose_also(struct run_progress *progress, const char *what, const char *why);

/* While the run goes on its message says what the log waits for, once that has lasted for 5 s. */
void run_progress_tell_trouble(struct run_progress *progress, int64_t now_ms);

/* A worker reports what its requests have cost so far; metrics NULL: nothing. */
void run_progress_metrics(struct run_progress *progress, const char *worker, const json_t *metrics);
/* What workers reported to earlier coordinators: their `metrics`, from a commit; NULL: nothing.
 * Those that still live report more. */
void run_progress_recall(struct run_progress *progress, const json_t *metrics);
/* The worker is not connected now. If it comes back, it reports once more. */
void run_progress_gone(struct run_progress *progress, const char *worker);
/* What the next coordinator recalls, in at most `most` bytes: each process with an entry of its own
 * if there is room; else those that are not connected in one entry, "gone"; else that entry alone,
 * since those that are connected will report to the next coordinator. The caller owns it; NULL:
 * no worker has reported. */
json_t *run_progress_requests(const struct run_progress *progress, size_t most);
/* The latency that this share of all answers does not exceed, in ms; 0: there are none. */
int64_t run_progress_latency_ms(const struct run_progress *progress, double share);
/* Items per second: over the window while running, over the whole run afterwards; 0 at first. */
double run_progress_rate(const struct run_progress *progress, int64_t now_ms);
/* "0.125", "12.5", "1250": about three digits, as text, since Kubernetes advises against floating
 * point numbers in JSON. */
void run_progress_format_rate(double rate, char text[static 32]);

/* The /progress object; counts may be NULL before the ledger exists. Items that are kept count as
 * done, and "kept" says how many they are; "leftOut": names of the input that are not items, as
 * they begin with a dot or are not files. Both are absent if 0. The caller owns the result.
 * `secondsLeft` is absent while it is unknown. */
json_t *run_progress_json(const struct run_progress *progress, const struct ledger_counts *counts,
                          int64_t now_ms);
/* Adds "failedLog", if there is one, for the termination message and summary.json. /progress is
 * public and contains no output of programs. */
void run_progress_add_log(const struct run_progress *progress, json_t *tree);
