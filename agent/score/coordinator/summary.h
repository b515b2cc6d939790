/* summary.h: OUTPUT/summary.json: how the job ended, for people and for programs. */
#pragma once

#include "agent/job.h"
#include "agent/score/coordinator/progress.h"
#include "agent/score/log/commit.h"
#include "agent/score/report/report.h"

#define SUMMARY_NAME "summary.json"

enum { SUMMARY_BYTES_MAX = 16 << 20 }; /* 10,000 workers and 1,000 failures are 3 MB */

struct summary {
    const struct job *job;
    const struct progress *progress; /* in its final state */
    const struct ledger *ledger;
    const struct facts *facts; /* of all commits; NULL: they cannot be read */
    int64_t started_wall_ms, completed_wall_ms;
    int exit_code;   /* of the coordinator */
    bool has_report; /* summary_tell's: it is there, too */
};

/* {"name", "uid", "run", "state", "exitCode", "message", "started", "completed", "miniBatches",
 * "items", "itemsPerSecond", "outputs", "failedLog", "report", "failed": [{"miniBatch",
 * "firstItem", "items", "tries", "worker", "cause"}], "workers": [{"name", "miniBatches", "items",
 * "errors", "timeouts", "lost"}]}. Owned. Counts cover all commits of the run, under every
 * coordinator; failedLog and itemsPerSecond are the last coordinator's. */
json_t *summary_json(const struct summary *summary);

/* Writes it into the output. */
NODISCARD int summary_write(const struct summary *summary, struct store *output, struct error *err);

/* The tables and the page of report.h, of the commits, and what they say: facts, the caller's, for
 * the summary; NULL when they cannot be read. item: what failed items are called, with its context.
 */
NODISCARD int summary_report(const struct summary *summary, struct store *output,
                             struct commit_log *log, report_item *item, void *context,
                             struct facts **ret_facts, struct error *err);

/* Report, then summary, of what all commits say: in this order, since a summary means that the rest
 * is written. 0: the summary is there, and says whether the report is. UNAVAILABLE: of a run that
 * has succeeded (exit_code 0) one of them cannot be written for a reason that may pass, a full
 * disk, an I/O error; there is no summary then, and another coordinator may do better. Every
 * failure is logged, too. summary's facts are borrowed meanwhile. */
NODISCARD int summary_tell(struct summary *summary, struct store *output, struct commit_log *log,
                           report_item *item, void *context, struct error *err);

/* Writes the coordinator's termination message: a /progress, or summary_words; less what is too
 * long. */
void summary_leave_words(json_t *progress);

/* A summary's text -> the termination message of its coordinator, and "report", if this resource
 * (uid; any_uid: any resource) ended this run; else NULL, also for a cancelled run, which can
 * continue. Owned. */
json_t *summary_words(const struct job *job, bool any_uid, const char *text, size_t size,
                      int *ret_exit_code);
/* The same from OUTPUT/summary.json, if the outputs that it names are there. For a coordinator
 * whose predecessor finished the job unnoticed: nothing is left to do. */
json_t *summary_recall(const struct job *job, bool any_uid, int *ret_exit_code);
