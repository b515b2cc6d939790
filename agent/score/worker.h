/* worker.h: a worker's life: load the network, stay connected to the coordinator, score what it
 * leases. The connection has one thread, the scorer another, so that a long run of the network
 * never looks like a dead worker. */
#pragma once

#include "agent/job.h"

enum {
    WORKER_UNREACHABLE_MS = 60000, /* without its coordinator a worker waits this long */
    WORKER_HANG_MS = 60000,        /* a dropped lease that does not end: the process must */
    WORKER_LAST_MS = 8000,         /* what runs may take so long when the worker is told to stop */
    WORKER_FLUSH_MS = 1000,        /* for its last words to get out */
    WORKER_FAREWELL_MS = 5000,     /* for the scorer to tidy up when the worker ends */
    WORKER_PROBE_MS = 10000,       /* a storage that does not answer so long is dead */
};

/* Returns the process's exit code: 0 no work is left, 1 refused, 3 unreachable or broken, 130
 * interrupted. Logs. */
int worker_run(const struct job *job);
