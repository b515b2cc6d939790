/* reconcile.h: a reconcile pass over a job, shared by all kinds: it gathers the observed state,
 * calls the kind's plan, and asks for the writes of the result. A kind's struct kind
 * (operator/control/controller.h) is made of these functions. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/plan.h"
#include "operator/kinds/job/reconcile/refusals.h"

struct job_ops {
    /* Whether that pod, when it runs, answers GET /progress at the job's Service. */
    bool (*is_hub)(const json_t *pod);
    /* The kind's plan, made from the observed state and the kind's own inputs; owned by the caller.
     */
    NODISCARD int (*plan)(const struct reconcile *request, const struct job_observed *observed,
                          json_t **ret_plan, struct error *err);
    /* Whether the resource will need credentials when it begins; NULL: always. */
    bool (*begins)(const json_t *object, const struct job_options *options);
    /* Whether decisions wait for its hub's answer: it is then polled with priority (poller.h);
     * NULL: never. */
    bool (*is_first)(const json_t *object);
    /* Reduces a Pod or Service of a finished job for the cache. */
    cache_transform *transform_ended;
};

void *job_state_new(void);
void job_state_free(void *state);
NODISCARD int job_reconcile(const struct job_ops *ops, void *state, struct reconcile *request,
                            struct error *err);
void job_wrote(void *state, const struct written *written);
void job_listed(void *state, const char *namespace, const char *name, const json_t *list);

/* Creates the planned objects, unless the cluster refused one lately: then it asks for another pass
 * at the end of the pause, and empties the list. */
void job_make_all(struct reconcile *request, const struct refusals *failures, json_t *create);
/* Deletes plan's `delete`, which names what is to go by kind and name: the cache knows which one
 * that is (what it does not watch has its apiVersion, too). */
void job_delete_all(struct reconcile *request, const json_t *plan);
