/* tidy.h: cleans up after a successful run: tries, unfinished outputs, leftovers of killed writers.
 * Called after the summary and the list of failed items are written. A failure is logged and does
 * not fail the job. */
#pragma once

#include "agent/job.h"
#include "agent/store/store.h"

/* was_killed: a killed process may have left files next to the outputs; these are searched for,
 * too. */
void tidy_run(const struct job *job, struct store *output, bool was_killed);

/* Like tidy_run, for a run that an earlier coordinator has ended, which may have been killed before
 * it tidied up. Call it after writing the termination message: if a volume hangs for 5 min, the
 * process ends with 0. */
void tidy_run_ended(const struct job *job);

/* For a worker that ends after some of its leases were revoked, or without a message from its
 * coordinator. If the run has succeeded, the worker may have stored its last tries after the
 * coordinator tidied up, for example because it was stopped for a while. Removes tries of
 * coordinators up to `epoch`, the newest that this worker knows. */
void tidy_run_left(const struct job *job, int64_t epoch);
