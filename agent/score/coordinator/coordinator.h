/* coordinator.h: a job's coordinator: lists the input, divides it into mini-batches, leases them to
 * workers, joins the results, writes the summary, and answers GET /progress at any time. One thread
 * serves the network; listing and joining run in another. */
#pragma once

#include "agent/job.h"

enum {
    COORDINATOR_FAREWELL_MS = 500, /* how long workers get at the end to receive DONE */
};

/* If an earlier coordinator of the same resource has ended the job, it is not run again: this one
 * leaves the same termination message and exit code. Returns the process's exit code: 0 succeeded,
 * 1 the job failed, 2 input, model or output folder cannot be used, 3 a fault of this machine, 130
 * interrupted. Logs, and leaves the final /progress as the termination message. */
int coordinator_run(const struct job *job);
