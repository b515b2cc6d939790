/* summary.h: OUTPUT/summary.json: how the job went, for people and for the next program. */
#pragma once

#include "agent/job.h"
#include "agent/score/progress.h"

enum { SUMMARY_WORKERS_MAX = 10000 }; /* beyond that they are only counted */

struct summary {
    const struct job *job;
    const struct progress *progress; /* in its final state */
    const struct ledger *ledger;     /* NULL when there was none */
    int64_t started_wall_ms, completed_wall_ms;
};

/* {"name", "run", "state", "message", "started", "completed", "miniBatches", "items",
 *  "itemsPerSecond", "outputs", "failed": [{"miniBatch", "firstItem", "items", "tries", "worker",
 *  "cause"}], "workers": [{"name", "miniBatches", "items", "errors", "timeouts", "lost"}]}. Owned.
 */
json_t *summary_json(const struct summary *summary);

/* Writes it into the folder (on this machine), readable. */
NODISCARD int summary_write(const struct summary *summary, const char *folder, struct error *err);
