/* worker.h: a worker's life: get its scorers ready, stay connected to the coordinator, score what
 * it leases. The connection has one thread, each scorer another (runners.h), so that a long
 * mini-batch never looks like a dead worker. */
#pragma once

#include "agent/job.h"

enum {
    WORKER_UNREACHABLE_MS = 60000, /* without its coordinator a worker waits this long */
    WORKER_FLUSH_MS = 1000,        /* to send its last results */
    WORKER_FAREWELL_MS = 5000,     /* for the scorer to tidy up when the worker ends */
};

/* Returns the process's exit code: 0 no work is left, 1 refused, 3 unreachable or broken, 130
 * interrupted. *ret_epoch: where it may have stored tries that no coordinator expects, the epoch of
 * the newest coordinator that gave it leases; else untouched. Logs. */
int worker_run(const struct job *job, int64_t *ret_epoch);
