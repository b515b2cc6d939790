/* coordinator.h: a job's coordinator: lists the input, cuts mini-batches, leases them to workers,
 * joins the results, writes the summary, and answers GET /progress all the while. One thread serves
 * the network; listing and joining run in another. */
#pragma once

#include "agent/job.h"

enum {
    COORDINATOR_FAREWELL_MS = 500, /* at the end workers get this long to hear that all is done */
};

/* A job that an earlier coordinator of the same resource has ended is not run again: it writes the
 * same last words and exit code. Returns the process's exit code: 0 succeeded, 1 the job failed, 2
 * the input, the model or the output folder cannot be used, 3 this machine, 130 interrupted. Logs,
 * and leaves the final /progress as the termination message. */
int coordinator_run(const struct job *job);
