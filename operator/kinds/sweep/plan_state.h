/* plan_state.h: the inputs and decisions of one pass of plan.c. Internal to plan*.c. */
#pragma once

#include "operator/kinds/sweep/plan.h"

enum sweep_end {
    SWEEP_END_NONE,
    SWEEP_END_DONE,   /* all trials have ended */
    SWEEP_END_LATE,   /* activeDeadlineSeconds: running trials are stopped, missing ones are not
                     created,   and the best so far is the result */
    SWEEP_END_FAILED, /* more than maxFailedTrials */
    SWEEP_END_ALIKE,  /* maxAlikeFailures, and no trial has a value */
};

/* The reason in spec.stop of trials that run when activeDeadlineSeconds is over, and in the message
 * of their end. */
#define SWEEP_LATE_WORDS "the sweep's activeDeadlineSeconds are over"

struct sweep_plan {
    struct job_plan job;
    const struct sweep_observed *observed;
    struct sweep_spec spec;
    bool is_readable; /* the spec; otherwise job.problem says why not */
    int64_t next;     /* status.next */
    int64_t running, completed, stopped, failed, deleted;
    int64_t waiting;                       /* of the running ones */
    const struct trial_row *first_waiting; /* borrowed, as the next; NULL: none */
    const struct trial_row *last_failed;   /* borrowed; NULL: none */
    const struct trial_row *alike_first;   /* the first of those that failed alike most often */
    int64_t alike_count;                   /* how many those are */
    struct pod_phase registrar;            /* the newest pod that registers; attempt 0: none */
    int register_deaths;                   /* of such pods, by their own failure */
    json_t *best;                          /* status.best; owned; NULL: none */
};

/* The objectives of a Sweep; the first is spec.objective itself. */
struct front_objectives sweep_objectives(const struct sweep_spec *spec);

/* ---- plan_trials.c: changes to running trials, and new trials ---- */

const struct trial_row *sweep_find_row(const struct sweep_observed *seen, int64_t index);
void sweep_stop_all(struct sweep_plan *plan, const char *why);
void sweep_suspend(struct sweep_plan *plan); /* or resumes, by spec.suspend */
void sweep_judge(struct sweep_plan *plan);
void sweep_make(struct sweep_plan *plan);

/* ---- plan_end.c: progress and end ---- */

void sweep_count(struct sweep_plan *plan);
int64_t sweep_ended(const struct sweep_plan *plan);
enum sweep_end sweep_end_of(struct sweep_plan *plan);
void sweep_conclude(struct sweep_plan *plan, enum sweep_end end);

/* ---- plan_register.c: registers the best trial's model ---- */

void sweep_read_registrar(struct sweep_plan *plan);
/* It has begun to register: from then on the result is final. */
bool sweep_is_registering(const struct sweep_plan *plan);
/* The next step of registering: true when it is done. Otherwise it sets the conditions. */
bool sweep_register(struct sweep_plan *plan);
/* For a Sweep that has ended: deletes a registering pod that has not started or runs for too long.
 */
void sweep_clear(struct sweep_plan *plan);
