/* plan_phases.h: what the plans of all kinds read from pods. Pure. */
#pragma once

#include "operator/kinds/job/plan.h"

/* True when the pod uses a Secret that is not the job's, so that it does not belong to the job. A
 * living one is deleted and treated as leaving. */
bool job_plan_drop_stray(struct job_plan *plan, struct pod_phase *phase);
/* A pod that should have been gone for JOB_PLAN_LOST_MS is on a lost node: it is treated as dead.
 */
void job_plan_note_lost(struct job_plan *plan, struct pod_phase *phase);
/* The plan's phases in the order of their attempts, for pod_phase_count. The caller frees it. */
const struct pod_phase **job_plan_by_attempt(const struct job_plan *plan);
/* When it was seen to have ended, by our clock. */
int64_t job_plan_ended_ms(const struct job_plan *plan, const struct pod_phase *phase);
/* A pod that another container (a model server, or one that a webhook has added) has held for a
 * minute since the agent's end, or the job's, and that is not being deleted. Wakes the plan when
 * the minute is over. */
bool job_plan_is_held_long(struct job_plan *plan, const struct pod_phase *phase);
/* Sets progress. The hub's termination message outlives the hub, and is newer than its last answer.
 */
void job_plan_read_progress(struct job_plan *plan, const struct pod_phase *hub);
/* The message of /progress JSON, or the last line of a log that has text. NULL: there is none. Both
 * functions return text that the caller owns. */
char *job_plan_find_message(const struct pod_phase *phase);
/* The same, or at least how the pod ended. */
char *job_plan_termination_message(const struct pod_phase *phase);
/* It was killed because it ran out of memory. */
bool job_plan_ran_out_of_memory(const struct pod_phase *phase);
/* Its phase. When a leaving one should be gone is measured from when this controller first saw that
 * (job_observed.leaving); its other times are on the wall clock as it is now. */
struct pod_phase job_plan_read_pod(const struct job_plan *plan, const json_t *pod);
/* Reports why that pod does not run yet (waiting.h). */
void job_plan_report_waiting(struct job_plan *plan, const struct pod_phase *phase, int running,
                             int wanted);
/* Deletes job_observed.misplaced: of a job of which nothing may run on. */
void job_plan_remove_misplaced(struct job_plan *plan);
