/* controller.h: watch -> cache -> queue -> reconcile -> writes. It is independent of kinds and
 * transport: the kinds are a table, the cluster an interface. Everything happens in the thread that
 * calls controller_step. */
#pragma once

#include "operator/cluster.h"
#include "operator/control/cache.h"

struct controller;

/* One reconcile pass over one resource. */
struct reconcile {
    struct cache *cache; /* to read, and to trim objects of finished jobs */
    const char *kind, *namespace, *name;
    const void *options; /* the kind's */
    /* As last seen; NULL: it is gone, and what is kept about it can be freed. */
    const json_t *object;
    int64_t wall_ms, monotonic_ms;
    /* Not 0: the cluster is overloaded. Updates of messages and counters should wait this long, so
     * that writes with consequences come first. */
    int64_t rush_ms;
    json_t *writes;        /* result: reconcile_write */
    json_t *events;        /* result: event_recorder_add */
    struct poller *poller; /* reconcile_poll */
    struct controller *controller;
    bool asked;
    bool is_careful; /* result: start with one creation at a time, because one was refused lately */
    /* Result: reconcile again after this time even without an event; 0: not needed. */
    int64_t again_ms;
};

/* Asks for a write and takes the object over. All writes of a reconcile pass are submitted
 * together, in no order, but creations use a slow start (write_batch.h): after a refused creation
 * the remaining ones are skipped, and `wrote` is not called for them. The resource is reconciled
 * again only after the last write has ended; the cache then holds the stored objects. */
void reconcile_write(struct reconcile *request, enum cluster_verb verb, json_t *object_new);

/* Asks for an Event (events.k8s.io/v1) about the resource, for people. It is sent once, after the
 * write of the object named `of` succeeded, or, if of is NULL, the write of the status. type:
 * Normal or Warning. */
struct reconcile_event {
    const char *type, *reason, *note, *of;
};
void event_recorder_add(struct reconcile *request, const struct reconcile_event *news);

/* Lists, once, objects that are not watched (cluster.h's list). kind->listed gets the answer, and
 * the resource is reconciled again. One list at a time per resource: false when one is under way.
 */
bool reconcile_list(struct reconcile *request, const json_t *like, const char *fields);

/* Polls url with GET, from the server that shows exactly this certificate, until a reconcile pass
 * does not ask for it. Returns the body of the last answer, borrowed, or NULL when there is none
 * (yet). A different answer triggers a reconcile pass. One URL per resource. is_first: it has
 * priority over others (poller.h). */
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
    bool may_be_absent;  /* a cluster may lack its definition; the other kinds still work */
    const void *options; /* the program's options, for the kind's passes; may be NULL */
    /* "apiVersion Kind" of the objects that its resources own; ends with NULL. Watched by
     * LABEL_JOB. */
    const char *const *owned;
    cache_transform *transform; /* reduces its resources and the objects they own for the cache;
                                   NULL: everything is kept */
    /* What a kind keeps between passes; may be NULL. It may be lost at any time, so it is never the
     * only record. */
    void *(*state_new)(void);
    void (*state_free)(void *state);
    NODISCARD int (*reconcile)(void *state, struct reconcile *request, struct error *err);
    /* Called for every write that ended, before the next pass. May be NULL. */
    void (*wrote)(void *state, const struct written *written);
    /* Called once for every job, of any kind, that ends, so that the kind can count it. May be
     * NULL. */
    void (*job_ended)(const json_t *object);
    /* Gets the answer to reconcile_list; list is NULL when there was none. NULL: the kind never
     * calls reconcile_list. */
    void (*listed)(void *state, const char *namespace, const char *name, const json_t *list);
};

/* Called for every pass that failed, or of which a write failed. retry_ms: the delay until the
 * retry; -1: no retry before the resource changes. failures: how many in a row. */
typedef void controller_report(void *context, const char *key, const struct error *err,
                               int64_t retry_ms, int failures);

/* Borrows cluster and kinds (ends with NULL), which must outlive the controller. */
NODISCARD int controller_new(struct cluster *cluster, const struct kind *const *kinds,
                             controller_report *report, void *report_context,
                             struct controller **ret_controller, struct error *err);
void controller_free(struct controller *controller);

/* Waits up to timeout_ms for something to do and does it. Failed passes are reported and not
 * returned: -1 means that the cluster itself is lost. */
NODISCARD int controller_step(struct controller *controller, int timeout_ms, struct error *err);
/* A descriptor for poll that is readable when there is something to do, and how long poll may wait
 * for it before the next step (at most INT_MAX). */
int controller_fd(const struct controller *controller);
int controller_idle_ms(struct controller *controller);
/* Number of writes under way; 0 for NULL. */
size_t controller_pending(const struct controller *controller);
/* The controller's cache. Borrowed. */
const struct cache *controller_cache(const struct controller *controller);
