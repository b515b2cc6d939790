/* summary.h: OUTPUT/summary.json: how the job ended, for people and for programs. */
#pragma once

#include "agent/job.h"
#include "agent/score/coordinator/run_progress.h"
#include "agent/score/log/commit.h"
#include "agent/score/report/report.h"

#define SUMMARY_NAME "summary.json"

enum { SUMMARY_BYTES_MAX = 16 << 20 }; /* 10,000 workers and 1,000 failures are 3 MB */

struct prepared_job;

struct summary {
    const struct job *job;
    struct run_progress *progress; /* in its final state; gets what the outputs lack */
    const struct ledger *ledger;
    const json_t *files;       /* what the results depend on (scorer.h); may be NULL; borrowed */
    const struct facts *facts; /* of all commits; NULL: the commits cannot be read */
    int64_t started_wall_ms, completed_wall_ms;
    int exit_code;                 /* of the coordinator */
    struct prepared_job *prepared; /* has the names of failed items; NULL: they have none */
    bool has_report;               /* set by summary_write_all: the report exists, too */
    char sha256[65];               /* set by summary_write: of the bytes that were written */
};

/* {"name", "uid", "run", "state", "exitCode", "message", "started", "completed", "miniBatches",
 * "items", "itemsPerSecond", "outputs", "lost" (what the outputs lack), "requests" (of model
 * servers: counts of request_metrics.h), "failedLog", "report", "result" (of a success), "files":
 * {FIELD: SHA-256}, "failed": [{"miniBatch", "firstItem", "items", "tries", "worker", "cause"}],
 * "workers":
 * [{"name", "miniBatches", "items", "errors", "timeouts", "lost"}], "retired": [{"pod", "deaths",
 * "message"}] (retired.h)}, in this order; members without a value are absent. The caller owns it.
 * Counts cover all commits of the run, under every coordinator; failedLog and itemsPerSecond are
 * the last coordinator's. */
json_t *summary_json(const struct summary *summary);

/* Writes summary_json into the output. */
NODISCARD int summary_write(struct summary *summary, struct store *output, struct error *err);

/* Writes the report (report.h), then the summary, from all commits of the log; in this order, since
 * a summary means that everything else but result.json, which names the summary, is written. 0: the
 * summary exists, and says whether the report does: one that cannot be written for good is missing
 * in a success without failed items: then those of an earlier run are removed, and the summary
 * names the report among what is lost. UNAVAILABLE: the run has succeeded (exit_code 0), but one of
 * them cannot be written for a reason that may be temporary, such as a full disk or an I/O error;
 * there is no summary then, and another coordinator may succeed. Other errors: the reason is not
 * temporary. Every failure is also logged. Sets has_report; `facts` is set during the call only. */
NODISCARD int summary_write_all(struct summary *summary, struct store *output,
                                struct commit_log *log, struct error *err);

/* Writes the coordinator's termination message: a /progress, or summary_message, without the parts
 * that are too long. kept: "progress" (job.h); 0: a verdict, or nothing was stored. */
void summary_leave_message(json_t *progress, int64_t kept);

/* Leaves a /progress in its place while the run goes on, if `kept`, the results that this
 * coordinator has stored, has grown (job.h): at most once in JOB_LEAVE_MS. Sets progress->kept. */
void summary_leave_progress(struct run_progress *progress, const struct ledger *ledger,
                            int64_t kept);

/* Leaves a cause and what was stored before it, for an end at once. Any thread. */
void summary_leave_cause(int64_t kept, const char *cause);

/* Converts a summary's text to the termination message of its coordinator, with "report" added, if
 * this resource (uid; any_uid: any resource) ended this run; otherwise NULL, also for a cancelled
 * run, which can continue. The caller owns the result. */
json_t *summary_message(const struct job *job, bool any_uid, const char *text, size_t size,
                        int *ret_exit_code);
/* Like summary_message, from OUTPUT/summary.json, if the outputs that it names exist, and the
 * result.json that belongs to it ("result"; summaries of earlier releases have none). For a
 * coordinator whose predecessor finished the job unnoticed: nothing is left to do. */
json_t *summary_read_message(const struct job *job, bool any_uid, int *ret_exit_code);
