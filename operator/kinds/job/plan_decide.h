/* plan_decide.h: the skeleton of a plan, shared by all kinds: a job that is being deleted, that has
 * ended, that cannot be read, that goes on. A kind fills in the rest. Pure.
 *
 *      leaving   -> clean_up
 *      finished  -> clean_up, the Service is deleted
 *      otherwise -> read_spec -> spec.after -> go_on -> clean_up at the end -> conclude -> status
 *
 * Kinds whose jobs have a Service and a hub are made of the parts of plan_course.h. */
#pragma once

#include "operator/kinds/job/plan.h"

/* Every function gets the job_plan that is the first member of the kind's own plan. */
struct job_plan_ops {
    const struct job_words *words; /* NULL: the kind uses none of plan_steps.c */
    /* The field of a job that is under way: one that has it goes on even when its spec can no
     * longer be read, or is not allowed any more. */
    const char *begun;
    /* Reads the pods: their phases, and what the kind itself needs of them. */
    void (*read)(struct job_plan *job);
    /* Reads the spec of job->observed->object. INVALID: it is kept as job->problem, as is what the
     * administrator's policy forbids of a spec that can be read (job->is_refused). */
    int (*read_spec)(struct job_plan *job, struct error *err);
    /* The next step of a job whose spec can be read, or that has begun: sets the conditions. */
    void (*go_on)(struct job_plan *job);
    /* Deletes pods that are alive, and ended pods that need not be kept; all: deletes everything.
     * Called when the job has just ended, and later, when its end is stored. */
    void (*clean_up)(struct job_plan *job, bool succeeded, bool all);
    /* The end of a pass over an unfinished job: events, the next wake-up. */
    void (*conclude)(struct job_plan *job);
    /* The next status, made from the object's; owned. */
    json_t *(*status)(struct job_plan *job, const json_t *object);
};

/* The result (plan.h), owned. job: the kind's plan, zero-initialized except for the kind's own
 * members; the caller releases it. */
NODISCARD int job_plan_decide(struct job_plan *job, const struct job_plan_ops *ops,
                              const struct job_observed *observed, int64_t now_ms,
                              struct plan_result *ret_result, struct error *err);
