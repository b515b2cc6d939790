/* plan_decide.h: the skeleton of a plan, shared by all kinds whose jobs have pods of their own: a
 * job that is being deleted, that has ended, that cannot be read, that goes on. A kind fills in the
 * rest. Pure.
 *
 *      leaving   -> clean_up
 *      finished  -> clean_up, the Service is deleted
 *      otherwise -> read_spec -> divert? -> verdict -> suspend | pods -> clean_up at the end ->
 *                   status
 */
#pragma once

#include "operator/kinds/job/plan.h"

/* Every function gets the job_plan that is the first member of the kind's own plan. */
struct job_plan_ops {
    const struct job_words *words;
    /* Reads the pods: their phases, and what the kind itself needs of them. */
    void (*read)(struct job_plan *job);
    /* Reads the spec of job->observed->object and sets job->spec. */
    int (*read_spec)(struct job_plan *job, struct error *err);
    /* True: the kind has decided the job in another way. is_known: the spec can be read, or the job
     * has begun. NULL: never. */
    bool (*divert)(struct job_plan *job, bool is_known);
    /* Sets the conditions when the job has ended. */
    void (*verdict)(struct job_plan *job);
    char *(*how_far)(const struct job_plan *job); /* "24 of 280 items are done"; owned */
    void (*suspend)(struct job_plan *job);
    void (*pods)(struct job_plan *job);
    bool (*has_hub)(const struct job_plan *job);
    bool (*is_running)(const struct job_plan *job);
    /* Deletes pods that are alive, and ended pods that need not be kept; all: deletes everything.
     */
    void (*clean_up)(struct job_plan *job, bool succeeded, bool all);
    /* The next status, made from the object's; owned. */
    json_t *(*status)(struct job_plan *job, const json_t *object);
};

/* The result (plan.h), owned. job: the kind's plan, zero-initialized except for the kind's own
 * members; the caller releases it. */
NODISCARD int job_plan_decide(struct job_plan *job, const struct job_plan_ops *ops,
                              const struct job_observed *observed, int64_t now_ms,
                              json_t **ret_result, struct error *err);
