/* reconcile.h: one reconcile pass over one resource, as a kind sees it: what is known, and what the
 * kind may ask for. controller.h calls the kind; the functions are for its `reconcile`. */
#pragma once

#include "operator/cluster.h"
#include "operator/control/poller.h"

struct reconcile {
    const char *kind, *namespace, *name; /* of the resource */
    const json_t *object; /* the resource as last seen; NULL: deleted, free what is kept about it */
    const void *options;  /* the kind's (struct kind) */
    const struct schema *schema;   /* the kind's; NULL: resources lack no defaults */
    struct cache *cache;           /* to read the objects that the resource owns */
    int64_t wall_ms, monotonic_ms; /* the time of this pass */
    /* Not 0: the namespace has many writes under way. Status updates that only report counters or
     * messages should wait this long, so that creations and deletions go first. */
    int64_t overload_ms;
    /* The least time between two writes of a status for its figures alone. */
    int64_t figures_ms;
    int failures; /* passes over the resource in a row that failed or had a failed write */
    /* Results: */
    bool starts_slowly; /* create objects one by one at first, because a creation was refused */
    int64_t again_ms;   /* run another pass after this time even without an event; 0: no */
    /* The pass looked at nothing, and is made again after again_ms: as if it had not been. What
     * waits for its turn keeps its place, and a turn that has come. */
    bool is_postponed;
    /* For the functions below: */
    json_t *writes, *events, *learned;
    struct poller *poller;
    struct queries *queries; /* of reconcile_list and reconcile_find */
    struct retry_pace *pace;
    size_t kind_index;               /* in the controller's table */
    const struct kind *const *kinds; /* the controller's table; ends with NULL */
    struct awaited *awaited;
    bool is_polling, is_retry, is_waiting; /* private */
};

/* Adds a write of this pass and takes the reference to the object. The writes of a pass are sent
 * together after it, in no particular order. Creations use a slow start (write_batch.h): after one
 * that the cluster refuses, the remaining creations are not sent, and the kind's `wrote` is not
 * called for them. The resource is not reconciled again until all writes have ended; the cache then
 * has their results. */
void reconcile_write(struct reconcile *request, enum cluster_verb verb, json_t *object_new);

/* Asks for a write, or a question, like one that failed before, `failures` times in a row (at least
 * once), and that is not due before due_ms. True: it may be sent in this pass; ask once for each.
 * False: it has to wait for its turn among all that fails (retry_pace.h); the resource is
 * reconciled again when it has come. */
bool reconcile_may_retry(struct reconcile *request, int64_t due_ms, int failures);

/* A Kubernetes Event (events.k8s.io/v1) about the resource. */
struct reconcile_event {
    const char *type; /* "Normal", "Warning" */
    const char *reason, *note;
    const char *after; /* name of an object that this pass writes; NULL: the resource's status */
};
/* Adds an Event. It is sent once, after all writes of the pass have ended, unless the write of
 * `after` failed or was skipped. */
void event_recorder_add(struct reconcile *request, const struct reconcile_event *event);

/* Lists objects that are not watched, once: at most 50 of the kind and namespace of `like`, matched
 * by a field selector ("involvedObject.uid=..."). The kind's `listed` gets the answer, and the
 * resource is reconciled again. False: a list for this resource is already under way. */
bool reconcile_list(struct reconcile *request, const json_t *like, const char *fields);

/* Asks the cluster, and not the cache, for the object with the kind, namespace and name of `like`.
 * The kind's `found` gets the answer, and the resource is reconciled again. False: a list or a
 * question of this resource is already under way; its end leads to another pass, too. */
bool reconcile_find(struct reconcile *request, const json_t *like);

/* The resources of the controller's kinds with that name, in the namespace of this one: an array,
 * owned by the caller. kind: only of that kind; NULL: of all. waits: when one of them changes,
 * comes or goes, this resource is reconciled again, as long as every pass over it asks. */
json_t *reconcile_named(struct reconcile *request, const char *kind, const char *name, bool waits);

/* Stores an object in the cache as the cluster has it, found by reconcile_find: its event is late,
 * and will be ignored as known. So what the event would have led to follows: if the object is a
 * resource, it is reconciled, and so are its owners. */
void reconcile_learn(struct reconcile *request, const json_t *object);

/* Sends a GET to the URL about once a second (poller.h), as long as every pass over the resource
 * calls this. Returns the body of the last answer, borrowed, or NULL when there is none yet or the
 * last request failed. When the answer changes, the resource is reconciled. One URL per resource.
 * certificate_pem: the only certificate that is accepted from the server. has_priority: this URL is
 * polled before others under load. */
const char *reconcile_poll(struct reconcile *request, const struct poller_target *place,
                           bool has_priority);
/* Goes on with what is polled for the resource, if anything is, in a pass that does not need the
 * answer. */
void reconcile_keep_polling(struct reconcile *request);
