/* plan_phases.h: what the plans of all kinds read from pods. Pure. */
#pragma once

#include "operator/kinds/job/plan.h"

/* True when it goes with another Secret than the job's, so that it belongs to nobody. A living one
 * is removed, and taken for leaving. */
bool plan_drop_stray(struct job_plan *plan, struct pod_phase *phase);
/* A pod that leaves and should be gone for PLAN_LOST_MS is on a lost node: taken for dead. */
void plan_note_lost(struct job_plan *plan, struct pod_phase *phase);
/* When it was seen to have ended, by our clock. */
int64_t plan_ended_ms(const struct job_plan *plan, const struct pod_phase *phase);
/* Sets progress: the hub's termination message outlives it, and is newer than its last answer. */
void plan_read_progress(struct job_plan *plan, const struct pod_phase *hub);
/* /progress JSON's message, or the end of a log: the last line that says something. NULL: nothing
 * does. Both are owned by the caller. */
char *plan_find_message(const struct pod_phase *phase);
/* The same, or how it ended at least. */
char *plan_termination_message(const struct pod_phase *phase);
/* Killed for its memory. */
bool plan_ran_out_of_memory(const struct pod_phase *phase);
/* Tells why that pod does not run yet (waiting.h). */
void plan_tell_waiting(struct job_plan *plan, const struct pod_phase *phase, int running,
                       int wanted);
