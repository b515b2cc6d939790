/* plan_lives.h: what the plans of all kinds read from pods. Pure. */
#pragma once

#include "operator/kinds/job/plan.h"

/* True when it goes with another Secret than the job's, so that it belongs to nobody. A living one
 * is removed, and taken for leaving. */
bool plan_drop_stray(struct job_plan *plan, struct life *life);
/* A pod that leaves and should be gone for PLAN_LOST_MS is on a lost node: taken for dead. */
void plan_note_lost(struct job_plan *plan, struct life *life);
/* When it was seen to have ended, by our clock. */
int64_t plan_ended_ms(const struct job_plan *plan, const struct life *life);
/* Sets progress: the hub's last words outlive it, and are newer than its last answer. */
void plan_read_progress(struct job_plan *plan, const struct life *hub);
/* /progress JSON's message, or the end of a log: the last line that says something. NULL: nothing
 * does. Both are owned by the caller. */
char *plan_find_words(const struct life *life);
/* The same, or how it ended at least. */
char *plan_last_words(const struct life *life);
/* Killed for its memory. */
bool plan_ran_out_of_memory(const struct life *life);
/* Tells why that pod does not run yet (waiting.h). */
void plan_tell_waiting(struct job_plan *plan, const struct life *life, int running, int wanted);
