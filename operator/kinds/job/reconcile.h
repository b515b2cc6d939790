/* reconcile.h: a reconcile pass over a job, as it is alike for all kinds: gathers what is there,
 * asks the kind's plan, and asks for what that wants. A kind's struct kind
 * (operator/control/controller.h) is made of these functions. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/plan.h"

struct job_ops {
    /* Whether that pod, when it runs, answers GET /progress at the job's Service. */
    bool (*is_hub)(const json_t *pod);
    /* The kind's plan, of what was observed and what it alone looks at; owned by the caller. */
    NODISCARD int (*plan)(const struct reconcile *request, const struct job_observed *observed,
                          json_t **ret_plan, struct error *err);
    /* The resource will need credentials when it begins; NULL: it always does. */
    bool (*begins)(const json_t *object, const struct job_options *options);
    /* Somebody decides by what its hub says, and soon: it is asked before others (poller.h);
     * NULL: none is. */
    bool (*is_first)(const json_t *object);
    /* What is kept of a Pod or Service whose job has ended. */
    cache_transform *transform_ended;
};

void *job_state_new(void);
void job_state_free(void *state);
NODISCARD int job_reconcile(const struct job_ops *ops, void *state, struct reconcile *request,
                            struct error *err);
void job_wrote(void *state, const struct written *written);
void job_listed(void *state, const char *namespace, const char *name, const json_t *list);

/* Creates what is planned, unless the cluster refused something lately (kept["refused"],
 * write_failures.h): then another pass comes when it may be asked again, and the list is empty. */
void job_make_all(struct reconcile *request, const json_t *kept, json_t *create);
/* Deletes plan's `delete`, which names what is to go by kind and name: the cache knows which one
 * that is (what it does not watch has its apiVersion, too). */
void job_delete_all(struct reconcile *request, const json_t *plan);
