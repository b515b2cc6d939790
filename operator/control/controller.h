/* controller.h: watch -> cache -> queue -> reconcile -> writes. Knows no kind and no transport: the
 * kinds are a table, the cluster an interface. Everything happens in the thread that calls
 * controller_step.
 */
#pragma once

#include "operator/cluster.h"
#include "operator/control/cache.h"

struct controller;

/* One reconcile pass over one resource. */
struct reconcile {
    struct cache *cache; /* to read and, of what has ended, to trim */
    const char *kind, *namespace, *name;
    const void *options;  /* the kind's */
    const json_t *object; /* as last seen; NULL: it is gone, forget what is kept about it */
    int64_t wall_ms, monotonic_ms;
    /* Not 0: the cluster has more to do than it can, so words and counters should wait for so long
     * and let pass what makes something happen. */
    int64_t rush_ms;
    json_t *writes;        /* result: reconcile_write */
    json_t *events;        /* result: event_recorder_add */
    struct poller *poller; /* reconcile_poll */
    struct controller *controller;
    bool asked;
    bool is_careful;  /* result: ask for one creation first, as one was refused lately */
    int64_t again_ms; /* result: look again after this long even if nothing happens; 0: no need */
};

/* Asks for a write. All writes of a reconcile pass are submitted together, in no order, but
 * creations in a slow start (write_batch.h): after one that is refused the others are not asked
 * for, and `wrote` is not told of them. The resource is not reconciled again before the last of
 * them has ended, and then the cache holds what was stored. Takes the object over. */
void reconcile_write(struct reconcile *request, enum cluster_verb verb, json_t *object_new);

/* Asks for an Event (events.k8s.io/v1) about the resource, for people: sent, once, when the write
 * of the object named `of` went well, or, if of is NULL, that of the status. type: Normal or
 * Warning.
 */
struct reconcile_event {
    const char *type, *reason, *note, *of;
};
void event_recorder_add(struct reconcile *request, const struct reconcile_event *news);

/* Looks up, once, what nobody watches (cluster.h's list); kind->listed is told, and the resource
 * reconciled again. One at a time per resource: false when one is under way. */
bool reconcile_list(struct reconcile *request, const json_t *like, const char *fields);

/* GET url from the server that shows exactly this certificate, again and again until a reconcile
 * pass does not ask: the body of the last answer, borrowed, or NULL when there is none (yet).
 * Another answer is a reason to look. One question per resource. is_first: others wait for it
 * (poller.h). */
const char *reconcile_poll(struct reconcile *request, const char *url, const char *certificate_pem,
                           bool is_first);

/* How a write of a reconcile pass ended: cluster_done's stored and err. All borrowed. */
struct written {
    const char *namespace, *name; /* of the resource that was reconciled */
    enum cluster_verb verb;
    const json_t *object;
    const json_t *stored;
    const struct error *err;
};

struct kind {
    const char *api_version, *name;
    bool may_be_absent;  /* a cluster without its definition has none, and the others go on */
    const void *options; /* what the program was started with, for the kind's passes; may be NULL */
    /* "apiVersion Kind" of what its resources own, ends with NULL. Watched by LABEL_JOB. */
    const char *const *owned;
    cache_transform
        *transform; /* what is kept of its resources and of what they own; NULL: everything */
    /* What a kind keeps between passes (never the truth: it may be lost at any time); may be NULL.
     */
    void *(*state_new)(void);
    void (*state_free)(void *state);
    NODISCARD int (*reconcile)(void *state, struct reconcile *request, struct error *err);
    /* Told of every write that ended, before the next pass; NULL: it does not want to know. */
    void (*wrote)(void *state, const struct written *written);
    /* Told once of every job, of whatever kind, that comes to its end, to count it. NULL: none. */
    void (*job_ended)(const json_t *object);
    /* The answer to reconcile_list; list is NULL when there was none. NULL: it never asks. */
    void (*listed)(void *state, const char *namespace, const char *name, const json_t *list);
};

/* Told of every pass that failed, itself or one of its writes. retry_ms: when it is tried again;
 * -1: not before the resource changes. failures: how many in a row. */
typedef void controller_report(void *context, const char *key, const struct error *err,
                               int64_t retry_ms, int failures);

/* Borrows cluster, and kinds (ends with NULL), which must live longer. */
NODISCARD int controller_new(struct cluster *cluster, const struct kind *const *kinds,
                             controller_report *report, void *report_context,
                             struct controller **ret_controller, struct error *err);
void controller_free(struct controller *controller);

/* Waits up to timeout_ms for something to do and does it. Failed passes are reported, not returned:
 * -1 means that the cluster itself is lost. */
NODISCARD int controller_step(struct controller *controller, int timeout_ms, struct error *err);
/* Descriptor for poll that is readable when there is something to do, and how long poll may wait on
 * it before the next step; INT_MAX at most. */
int controller_fd(const struct controller *controller);
int controller_idle_ms(struct controller *controller);
/* Writes under way. 0 for NULL. */
size_t controller_pending(const struct controller *controller);
/* What the controller has seen. Borrowed. */
const struct cache *controller_cache(const struct controller *controller);
