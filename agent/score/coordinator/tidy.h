/* tidy.h: cleans up after a successful run: tries, unfinished outputs, leftovers of killed writers.
 * The summary and the list of failed items are written by then. A failure is logged and does not
 * fail the job. */
#pragma once

#include "agent/job.h"
#include "agent/store/store.h"

/* was_killed: a killed process may have left files beside the outputs; they are looked for. */
void tidy_run(const struct job *job, struct store *output, bool was_killed);

/* The same for a run that an earlier coordinator has ended, which may have been killed before it
 * tidied up. The termination message is written before: where a volume hangs for 5 min the process
 * ends with 0. */
void tidy_run_ended(const struct job *job);

/* For a worker that ends with leases that were taken from it, or without its coordinator's word.
 * Where the run has succeeded, its last tries may have come after the coordinator tidied, as those
 * of a worker that stood still: tries of coordinators up to epoch, its newest, are removed. */
void tidy_run_left(const struct job *job, int64_t epoch);
