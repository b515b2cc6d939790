/* plan_decide.h: the skeleton of a plan, as it is alike for kinds whose jobs have pods of their
 * own: a job that leaves, that has ended, that cannot be read, that goes on. A kind fills in what
 * differs. Pure.
 *
 *     leaving   -> clean_up
 *     finished  -> clean_up, the Service goes
 *     otherwise -> read_spec -> divert? -> verdict -> suspend | pods -> clean_up at the end ->
 * status
 */
#pragma once

#include "operator/kinds/job/plan.h"

/* Every function gets the job_plan that the kind's own plan begins with. */
struct plan_ops {
    const struct job_words *words;
    /* Reads the pods: phases, and what the kind remembers of them. */
    void (*read)(struct job_plan *job);
    /* Reads the spec of job->observed->object and sets job->spec. */
    int (*read_spec)(struct job_plan *job, struct error *err);
    /* True: the job takes another course, and that is decided. is_known: it can be read or has
     * begun. NULL: never. */
    bool (*divert)(struct job_plan *job, bool is_known);
    /* Sets conditions when the job has come to its end. */
    void (*verdict)(struct job_plan *job);
    char *(*how_far)(const struct job_plan *job); /* "24 of 280 items are done"; owned */
    void (*suspend)(struct job_plan *job);
    void (*pods)(struct job_plan *job);
    bool (*has_hub)(const struct job_plan *job);
    bool (*is_running)(const struct job_plan *job);
    /* Deletes what lives, and of what has ended what is not worth keeping; all: everything. */
    void (*clean_up)(struct job_plan *job, bool succeeded, bool all);
    /* The status to come, made of the object; owned. */
    json_t *(*status)(struct job_plan *job, const json_t *object);
};

/* The result (plan.h), owned. job: the kind's, zero but for what the kind itself looks at; the
 * caller releases it. */
NODISCARD int plan_decide(struct job_plan *job, const struct plan_ops *ops,
                          const struct job_observed *observed, int64_t now_ms, json_t **ret_result,
                          struct error *err);
