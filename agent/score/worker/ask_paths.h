/* ask_paths.h: a worker asks its coordinator for the targets of the spec's links in this run
 * (run_paths.h), before it opens them. */
#pragma once

#include "agent/job.h"

/* Replaces them in job->spec. Asks only if a path is one that may lead elsewhere; the answer comes
 * when the coordinator has claimed the run. Waits as long as a worker waits for its coordinator.
 * 0: done; 1: the job has ended; -1 with CANCELLED: SIGTERM; UNAVAILABLE: no answer;
 * FAILED: refused. */
NODISCARD int ask_paths(const struct job *job, struct error *err);
