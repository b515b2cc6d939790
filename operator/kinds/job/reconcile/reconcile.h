/* reconcile.h: a reconcile pass over a job, shared by all kinds: it gathers the observed state,
 * calls the kind's plan, and asks for the writes of the result. A kind's struct kind
 * (operator/control/controller.h) is made of these functions. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/plan.h"
#include "operator/kinds/job/reconcile/pin.h"
#include "operator/kinds/job/reconcile/refusals.h"
#include "operator/kinds/job/reconcile/status_write.h"

struct job_ops {
    const struct owned_hub *hub; /* what the job's Service selects */
    /* Whether that pod, when it runs, answers GET /progress at the job's Service. */
    bool (*is_hub)(const json_t *pod);
    /* The role of pods whose names do not have it: NAME-0 (owned_is_misplaced); NULL: of none. */
    const char *bare_role;
    /* The name of the last hub that the status knows of, owned by the caller; NULL: of none. As a
     * function NULL: a status knows of none. */
    char *(*last_hub)(const json_t *object);
    /* The kind's plan, made from the observed state and the kind's own inputs; owned by the caller.
     */
    NODISCARD int (*plan)(const struct reconcile *request, const struct job_observed *observed,
                          struct plan_result *ret_plan, struct error *err);
    /* Whether the resource will need credentials when it begins; NULL: always. */
    bool (*begins)(const json_t *object, const struct job_options *options);
    /* Whether decisions wait for its hub's answer: it is then polled with priority (poller.h);
     * NULL: never. */
    bool (*is_first)(const json_t *object);
    /* The kind of resources that make such jobs, and the annotation by which they find them,
     * besides LABEL_JOB: a new job of theirs without them is deleted by its maker (write_batch.h).
     * is_found_by_name: without the annotation they know one that has begun by its name. */
    const char *maker, *found_by;
    bool is_found_by_name;
    /* Which changes of the spec a job accepts once it has begun. */
    struct pin_rules rules;
    /* Reduces a Pod or Service of a finished job for the cache. */
    cache_transform *transform_ended;
};

void *job_state_new(void);
void job_state_free(void *state);
NODISCARD int job_reconcile(const struct job_ops *ops, void *state, struct reconcile *request,
                            struct error *err);
void job_wrote(void *state, const struct written *written);
void job_take_found(void *state, const struct found *found);
void job_listed(void *state, const char *namespace, const char *name, const json_t *list);

/* For an object that is being deleted: deletes its pods and what else it owns of these kinds (ends
 * with NULL). The cluster does so only when the object itself is gone, which a finalizer of
 * somebody else may put off for ever. What the cluster refuses waits for its time (refusals). */
void job_delete_owned(struct reconcile *request, const struct refusals *refusals,
                      const char *const *kinds);

/* The writes and events of a plan. Where the cluster refused a creation lately, nothing is created:
 * another pass is asked for at the end of the pause, and `create` becomes empty. */
void job_carry_out(struct reconcile *request, const struct refusals *refusals,
                   struct status_write_record *status, struct plan_result *plan);
