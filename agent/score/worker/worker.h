/* worker.h: a worker's life: start its scorers, stay connected to the coordinator, score its
 * leases. The connection has one thread and each scorer another (runners.h), so that a worker with
 * a long mini-batch does not look dead. */
#pragma once

#include "agent/job.h"

enum {
    WORKER_UNREACHABLE_MS = 60000, /* how long a worker waits for its coordinator */
    WORKER_FLUSH_MS = 1000,        /* time limit for sending its last results */
    WORKER_FAREWELL_MS = 5000,     /* time limit for the scorers to end with the worker */
};

/* Returns the process's exit code: 0 no work is left, 1 refused, 3 coordinator unreachable or a
 * fault of this machine, 64 no worker can start the user's program, 130 interrupted. *ret_epoch: if
 * the worker may have stored tries that no coordinator expects, the epoch of the newest coordinator
 * that granted it leases; otherwise untouched. Logs. */
int worker_run(const struct job *job, int64_t *ret_epoch);
