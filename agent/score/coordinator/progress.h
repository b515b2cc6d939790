/* progress.h: what GET /progress says: state, counters, throughput over a sliding window, time
 * left. PURE but for the caller's clock. Used by the coordinator alone. */
#pragma once

#include "agent/launch/pod/output_tail.h"
#include "agent/score/ledger/ledger.h"
#include "lib/tree.h"

enum progress_state {
    PROGRESS_LISTING,
    PROGRESS_RUNNING,
    PROGRESS_JOINING,
    PROGRESS_SUCCEEDED,
    PROGRESS_FAILED,
    PROGRESS_STATE_COUNT
};

enum { PROGRESS_WINDOW_MS = 30000, PROGRESS_SAMPLES = 64 };

struct progress_sample {
    int64_t time_ms, items;
};

struct progress {
    enum progress_state state;
    char message[512]; /* one line, cause first */
    /* The program's output in the first failed mini-batch that has any; or "". */
    char failed_log[OUTPUT_TAIL_TEXT_BYTES + 1];
    const json_t *outputs;
    const char *summary;          /* spec path; NULL: not written (yet) */
    bool knows_storage, excludes; /* the output's storage lets one coordinator exclude another */
    int64_t items_before;         /* done by earlier coordinators; excluded from the rate */
    int64_t started_ms, ended_ms; /* first lease, last result; -1: not yet */
    struct progress_sample samples[PROGRESS_SAMPLES]; /* oldest first */
    int sample_count;
};

void progress_init(struct progress *progress);
const char *progress_state_name(enum progress_state state); /* "Listing", ... */

/* The first lease was given. */
void progress_start(struct progress *progress, int64_t now_ms);
/* A result came: `items` are done now in all. Fewer than before: results were lost, and the rate
 * starts over. */
void progress_add(struct progress *progress, int64_t items, int64_t now_ms);

/* Items a second over the window while running, over the whole run afterwards; 0 at first. */
double progress_rate(const struct progress *progress, int64_t now_ms);
/* "0.125", "12.5", "1250": three digits or so, as Kubernetes wants no fractions in JSON. */
void progress_format_rate(double rate, char text[static 32]);

/* The /progress object; counts may be NULL before there is a ledger. Owned. `secondsLeft` is absent
 * while it is unknown. */
json_t *progress_json(const struct progress *progress, const struct ledger_counts *counts,
                      int64_t now_ms);
/* "failedLog", where there is one: for the termination message and summary.json. /progress is
 * public and has no output of programs. */
void progress_add_log(const struct progress *progress, json_t *tree);
