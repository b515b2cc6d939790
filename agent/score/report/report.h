/* report.h: what a run leaves for people, made of its commits alone: mini_batches.csv, workers.csv,
 * failed.jsonl, report.html. Used by the coordinator when it assembles the outputs, with whatever
 * verdict: two readings of the log, memory that does not grow with the mini-batches but for 4 bytes
 * a cell (record_resolver.h). The same commits and options give the same bytes.
 *
 *     struct report_options options = {.job = job->name, ..., .cells = ..., .slots = 1};
 *     if (report_write(output, log, &options, NULL, &err) < 0) log it: no reason for a job to fail
 *
 * For the busy shares a record's start_ms and took_ms have to be differences of one clock, each
 * cut to whole milliseconds: then the mini-batches of 0.05 ms add up to what they took. */
#pragma once

#include "agent/score/log/commit.h"
#include "agent/score/report/report_facts.h"

enum { REPORT_PAGE_MAX = 4 << 20 };

/* Appends the name of an item as failed.jsonl has it, bytes of the input: "a.jpg", "a.csv:1041".
 * index: its number in the record that begins with cell `first`. */
typedef int report_item(void *context, int64_t first, int64_t index, struct buffer *name,
                        struct error *err);

struct report_options {
    const char *job, *name_space, *run;
    const char *uid; /* what a job of another one gave up does not count; NULL: all counts */
    const char *state, *message; /* "Succeeded", "Failed"; one line, or "" */
    bool is_failed;
    const char *unit;                           /* "frames", "files", "rows" */
    int64_t cells;                              /* of the job, known ones */
    int64_t items;                              /* of the job; -1: not known */
    int slots;                                  /* of each worker: what it runs at the same time */
    int64_t started_wall_ms, completed_wall_ms; /* 0: not known */
    report_item *item; /* NULL: failed.jsonl has the items' indices alone */
    void *context;
};

/* INVALID: the log is of another job than the options say (commit_replay, record_resolver.h); what
 * the store says. Objects that were written until then stay. INVALID, too, but all is written as
 * far as it is known: an object of failed items (failures.h) is gone or broken; of its record only
 * the first item is reported. *ret_facts (may be NULL): what the log says, the caller's, also where
 * tables cannot be written; NULL when the log could not be read to its end. */
NODISCARD int report_write(struct store *output, struct commit_log *log,
                           const struct report_options *options, struct facts **ret_facts,
                           struct error *err);

/* ---- its parts, for report.c and the tests -------------------------------------------------- */

/* A record that counts as a line of mini_batches.csv, with its '\n'; at_ms: its start in the run
 * (facts). */
extern const char report_batches_head[], report_workers_head[];
NODISCARD int report_batch_line(struct buffer *line, const struct commit_record *record,
                                int64_t at_ms, struct error *err);
NODISCARD int report_worker_line(struct buffer *line, const struct facts_worker *worker, int slots,
                                 struct error *err);
/* A failed item of a record that counts as a line of failed.jsonl, with its '\n':
 * {"item":"a.csv:1041","cause":"...","tries":3,"worker":"w-0","miniBatch":99,"index":3} */
struct report_failure {
    int64_t index; /* in the record */
    const char *cause;
    size_t cause_size;
};
NODISCARD int report_failed_line(struct buffer *lines, const struct commit_record *record,
                                 const struct report_failure *failure,
                                 const struct report_options *options, struct error *err);
/* The page; facts are finished. EXHAUSTED cannot happen with facts.h's limits. */
NODISCARD int report_page(struct buffer *page, const struct facts *facts,
                          const struct report_options *options, struct error *err);
