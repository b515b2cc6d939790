/* worker.h: a worker's life: start its scorers, stay connected to the coordinator, score its
 * leases. The connection has one thread and each scorer another (runners.h), so that a worker with
 * a long mini-batch does not look dead. */
#pragma once

#include "agent/job.h"
#include "lib/contract.h"

enum {
    /* How long a worker without a connection waits for its coordinator, with its network loaded.
     * Longer than Kubernetes needs to replace the coordinator of a lost node: 40 s to notice, 300 s
     * and 30 s of grace to evict the pod, 60 s to delete it, and the start of another. A worker
     * that waited longer would only hold its GPUs. It ends with CONTRACT_EXIT_UNREACHABLE. */
    WORKER_UNREACHABLE_MS = 900000,
    WORKER_FLUSH_MS = 1000,    /* time limit for sending its last results */
    WORKER_FAREWELL_MS = 5000, /* time limit for the scorers to end with the worker */
};

/* Returns the process's exit code: 0 no work is left, 1 the coordinator refused the worker, 3 a
 * fault of this machine, 4 coordinator unreachable, 64 no worker can start the user's program, 130
 * interrupted. From the first finished lease on it leaves a termination message with "progress"
 * (job.h), the number of finished leases. *ret_epoch: the epoch of the newest coordinator that
 * granted it leases, if the worker may have stored tries that no coordinator knows; otherwise
 * untouched. Errors are logged. */
int worker_run(const struct job *job, int64_t *ret_epoch);
