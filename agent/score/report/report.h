/* report.h: the tables and the page about a run, made from its commits alone: mini_batches.csv,
 * workers.csv, failed.jsonl, report.html. The coordinator uses it when it assembles the outputs,
 * for every verdict. It reads the log twice; apart from 4 bytes per cell (record_resolver.h) its
 * memory does not grow with the number of mini-batches. The same commits and options give the same
 * bytes.
 *
 *     struct report_options options = {.job = job->name, ..., .cells = ..., .slots = 1};
 *     if (report_write(output, log, &options, NULL, &err) < 0) log it: no reason for a job to fail
 *
 * For the busy shares a record's start_ms and took_ms must be differences of one clock, each
 * truncated to whole milliseconds: then mini-batches of 0.05 ms add up to the time that they
 * took. */
#pragma once

#include "agent/score/log/commit.h"
#include "agent/score/report/report_facts.h"
#include "agent/score/report/report_pictures.h"

enum { REPORT_PAGE_MAX = 4 << 20 };

/* Appends the name of an item for failed.jsonl, as bytes of the input: "a.jpg", "a.csv:1041".
 * index: the item's number in the record that begins with cell `first`. */
typedef int report_item(void *context, int64_t first, int64_t index, struct buffer *name,
                        struct error *err);

/* Appends a line about a failed item, with its '\n', for a file of its own. */
struct report_failure;
typedef int report_error(void *context, int64_t first, const struct report_failure *failure,
                         struct buffer *line, struct error *err);

struct report_options {
    const char *job, *name_space, *run;
    const char *uid; /* failures of jobs with another uid do not count; NULL: all count */
    const char *state, *message; /* "Succeeded", "Failed"; one line, or "" */
    bool is_failed;
    const char *unit;                       /* "frames", "files", "rows" */
    int64_t cells;                          /* known cells of the job */
    int64_t items;                          /* of the job; -1: not known */
    int slots;                              /* of each worker */
    const struct report_pictures *pictures; /* NULL: none */
    const json_t *requests; /* as in summary.json; NULL: none were sent to model servers */
    int64_t started_wall_ms, completed_wall_ms; /* 0: not known */
    report_item *item;                          /* NULL: failed.jsonl has only the items' indices */
    const char *errors_name; /* of another file with all failed items; NULL: none */
    report_error *error;     /* its lines */
    void *context;
};

/* INVALID: the log is of another job than the options (commit_replay, record_resolver.h). Other
 * errors are the store's. Objects that were written before the error stay. Also INVALID: an object
 * of failed items (failures.h) is missing or broken; everything known is written then, but of that
 * record only the first failed item. *ret_facts (may be NULL): the log's figures, which the caller
 * owns, even if tables cannot be written; NULL if the log could not be read to its end. */
NODISCARD int report_write(struct store *output, struct commit_log *log,
                           const struct report_options *options, struct facts **ret_facts,
                           struct error *err);

/* Removes those of an earlier run, which would be taken for this one's. errors_name as in the
 * options. Returns the names of those that cannot be removed, with commas between them, owned by
 * the caller; NULL: none. */
char *report_remove(struct store *output, const char *errors_name);

/* ---- its parts, for report.c and the tests -------------------------------------------------- */

/* Formats a valid record as a line of mini_batches.csv, with its '\n'; at_ms: its start in the run
 * (facts). */
extern const char report_batches_head[], report_workers_head[];
NODISCARD int report_batch_line(struct buffer *line, const struct commit_record *record,
                                int64_t at_ms, struct error *err);
NODISCARD int report_worker_line(struct buffer *line, const struct facts_worker *worker, int slots,
                                 struct error *err);
/* A failed item of a valid record, which becomes a line of failed.jsonl, with its '\n':
 * {"item":"a.csv:1041","cause":"...","tries":3,"worker":"w-0","miniBatch":99,"index":3} */
struct report_failure {
    int64_t index; /* in the record */
    const char *cause;
    size_t cause_size;
};
NODISCARD int report_failed_line(struct buffer *lines, const struct commit_record *record,
                                 const struct report_failure *failure,
                                 const struct report_options *options, struct error *err);
/* Writes the page; call facts_finish before. EXHAUSTED cannot happen with the limits of
 * report_facts.h. */
NODISCARD int report_page(struct buffer *page, const struct facts *facts,
                          const struct report_options *options, struct error *err);
