/* controller.h: the control loop: watch -> cache -> queue -> reconcile -> writes. It knows neither
 * the kinds, which are rows of a table, nor the transport, which is behind cluster.h. Everything
 * happens in the thread that calls controller_step. */
#pragma once

#include "operator/control/cache.h"
#include "operator/control/reconcile.h"

struct controller;

/* A write of a reconcile pass that has ended. All borrowed. */
struct written {
    const char *namespace, *name; /* of the resource that was reconciled */
    enum cluster_verb verb;
    const json_t *object; /* as it was sent */
    /* As the API server stored it (of a created Pod, Secret or Event perhaps only the metadata);
     * NULL after a deletion and after a failure. */
    const json_t *stored;
    const struct error *err; /* why it failed; NULL: it succeeded */
};

/* The answer to reconcile_find. All borrowed. */
struct found {
    const char *namespace, *name; /* of the resource that asked */
    const json_t *like;           /* what was asked for */
    const json_t *object;         /* as the cluster has it; NULL: there is none, or err */
    const struct error *err;      /* why it is not known; NULL: it is */
};

struct owned_kind {
    const char *api_version, *kind; /* "v1", "Pod" */
};

struct kind {
    const char *api_version, *name;
    bool may_be_absent;  /* a cluster may lack its definition; the other kinds still work */
    const void *options; /* the program's options, for the kind's passes; may be NULL */
    /* What its resources own; ends with {NULL}. Only objects with the label LABEL_JOB are watched.
     */
    const struct owned_kind *owned;
    /* Its definition, for the defaults of resources from a server whose definition is older
     * (cache.h); NULL: no resource lacks any. */
    const struct schema *schema;
    /* What the cache keeps of its resources and of the objects that they own; NULL: everything. */
    cache_transform *transform;
    /* Memory that the kind keeps between passes, passed to the functions below as `state`; NULL:
     * none. It is empty after a restart of the controller. */
    void *(*state_new)(void);
    void (*state_free)(void *state);
    /* Compares what a resource asks for with what exists, and asks for writes. After -1 the pass is
     * repeated with growing delays, unless the error is INVALID, UNSUPPORTED, CANCELLED, FAILED or
     * BUG: then not before the resource changes. Failed writes always lead to another pass. */
    NODISCARD int (*reconcile)(void *state, struct reconcile *request, struct error *err);
    /* Called for every write that ended, before the next pass. May be NULL. */
    void (*wrote)(void *state, const struct written *written);
    /* Called once when a job of any kind has finished, that is, when its condition Succeeded
     * becomes True or False; not when it is deleted, nor if it finished while no controller ran. A
     * kind gets the jobs of other kinds, too, to count those that its own resources own. May be
     * NULL. */
    void (*job_ended)(const json_t *object);
    /* Gets what reconcile_list (reconcile.h) asked for: `list` is a Kubernetes List with `items`,
     * borrowed, or NULL when the request failed. NULL: the kind never calls reconcile_list. */
    void (*listed)(void *state, const char *namespace, const char *name, const json_t *list);
    /* Gets what reconcile_find asked for. NULL: the kind never calls it. */
    void (*found)(void *state, const struct found *found);
};

/* Called for every pass that failed or had a failed write. key: of the resource
 * (resource_key.h). retry_ms: the delay until the retry; -1: no retry before the resource changes.
 * failures: how many in a row. Required. */
typedef void controller_report(void *context, const char *key, const struct error *err,
                               int64_t retry_ms, int failures);

/* kinds ends with NULL. cluster and kinds are borrowed and must outlive the controller. */
NODISCARD int controller_new(struct cluster *cluster, const struct kind *const *kinds,
                             controller_report *report, void *report_context,
                             struct controller **ret_controller, struct error *err);
/* NULL is allowed. Writes whose answer has not arrived (controller_pending) are not cancelled; the
 * API server may still carry them out. Their answers would go to freed memory, so the cluster's
 * `wait` must not be called any more: free the cluster next. */
void controller_free(struct controller *controller);

/* Waits up to timeout_ms for events, answers and resources that are due, and handles them. A failed
 * pass goes to `report`. -1: the event loop or the connection to the cluster itself failed, and the
 * caller should exit. */
NODISCARD int controller_step(struct controller *controller, int timeout_ms, struct error *err);
/* For callers with a poll of their own: a descriptor that is readable when controller_step has
 * something to do, and after how many milliseconds to call it in any case (at most INT_MAX). */
int controller_fd(const struct controller *controller);
int controller_idle_ms(struct controller *controller);
/* Number of writes whose answer has not arrived; 0 for NULL. */
size_t controller_pending(const struct controller *controller);
/* Borrowed. */
const struct cache *controller_cache(const struct controller *controller);
