/* cluster.h: the interface between the controller and the place where Kubernetes objects are
 * stored. It has two implementations: operator/kube (a Kubernetes API server) and operator/local
 * (objects in memory, pods as child processes of `windlass run`). Objects are JSON, as the API
 * server has them. An object is identified by its apiVersion, kind, metadata.namespace ("default"
 * when absent) and metadata.name. All calls are made from one thread. Only `wait` blocks, and
 * callbacks come only from `wait`. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum cluster_event {
    CLUSTER_APPLIED, /* the object is new or changed */
    CLUSTER_DELETED, /* the object is gone; this was its last state */
    /* A complete list of the kind begins: when a watch starts, and again when it was interrupted
     * and cannot know what was deleted meanwhile. All existing objects follow as APPLIED. The
     * object of this event and of LISTED has only apiVersion and kind. */
    CLUSTER_LISTING,
    /* The list is complete: objects of the kind that were not APPLIED since LISTING no longer
     * exist. If another LISTING comes first, the list starts over. If the object has a
     * metadata.resourceVersion, it is the list's: what the answer to a write had in a later version
     * is newer than the list, which says nothing about it; its event follows. */
    CLUSTER_LISTED,
    /* The cluster does not know the kind, so it has no objects of it; reported again from time to
     * time.
     * A list comes when it knows the kind. */
    CLUSTER_ABSENT,
};

/* object is borrowed and never changes afterwards; json_incref keeps it. */
typedef void cluster_listener(void *context, enum cluster_event event, const json_t *object);

enum cluster_verb {
    /* Creates a new object; never modifies an existing one. CONFLICT when the name exists already,
     * even if an earlier try of ours, whose answer was lost, created it: the uid in
     * ownerReferences shows it. */
    CLUSTER_CREATE,
    /* Changes an object, or creates it (server-side apply with our field manager, forced). Fields
     * that others set and we do not mention stay. Fields that we set and no longer mention may be
     * removed. The status is not modified. With metadata.uid, only the object with that uid is
     * changed: CONFLICT when it is a different one. */
    CLUSTER_APPLY,
    /* Replaces the status (object.status) of an object that exists, and nothing else. CONFLICT
     * when the stored one has another metadata.resourceVersion or metadata.uid, where given;
     * NOT_FOUND when it is gone. */
    CLUSTER_STATUS,
    /* Deletes an object and, in the background, the objects that it owns (ownerReferences). With
     * metadata.uid, only the object with that uid is deleted. An object that is already gone is not
     * an error. Pods get their terminationGracePeriodSeconds: they stay, with
     * metadata.deletionTimestamp, until they end. */
    CLUSTER_DELETE,
    /* Changes the fields of an object that are given, and removes those that are null; lists are
     * replaced (a JSON merge patch). CONFLICT when the stored object has another metadata.uid or
     * metadata.resourceVersion; NOT_FOUND when it is gone. */
    CLUSTER_MERGE,
};

/* How a write ended. On success err is NULL and stored is the object as stored, with the fields
 * that the cluster filled in (uid, resourceVersion, a Service's clusterIP, ...). Of a created Pod,
 * Secret, NetworkPolicy or Event it may be only the metadata; after CLUSTER_DELETE it is NULL. On
 * failure stored is NULL and err is the reason: INVALID when the cluster refuses the write (a retry
 * is useless); BUSY, UNAVAILABLE or TIMEOUT when the write may or may not have been done. Both are
 * borrowed. */
typedef void cluster_done(void *context, const json_t *stored, const struct error *err);

struct cluster {
    const struct cluster_ops *ops;
};

struct cluster_ops {
    /* Starts a watch: from now on `wait` reports the objects of this kind, in all namespaces (or in
     * the one that the cluster was opened for). label: only objects that have it; NULL: all.
     * may_be_absent: a kind that the cluster does not know (its definition is not installed) is
     * reported as ABSENT, and the watch tries again from time to time. One that was there has to be
     * missing for minutes first: a server that starts may not know it for a moment. */
    int (*watch)(struct cluster *cluster, const char *api_version, const char *kind,
                 const char *label, bool may_be_absent, struct error *err);

    /* Starts a write. done is called exactly once, from a later `wait`; NULL: the result is not
     * needed. The object must not change afterwards; a reference to it may be kept. Several writes
     * may be carried out in any order: for an order, wait for done. */
    void (*write)(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                  cluster_done *done, void *context);

    /* Lists objects, whether they are watched or not, as they are now: at most 50 of the kind and
     * namespace of `like` that match the field selector ("involvedObject.uid=...",
     * "metadata.name=..."). done gets a List with `items` as `stored`, from a later `wait`; the
     * items may lack apiVersion and kind. */
    void (*list)(struct cluster *cluster, const json_t *like, const char *fields,
                 cluster_done *done, void *context);

    /* Reports every change since the last call to listener, and calls the done of every finished
     * write. Blocks up to timeout_ms until there is something to report. A signal ends the wait
     * early. Neither listener nor done may call wait; done may call write. */
    int (*wait)(struct cluster *cluster, int timeout_ms, cluster_listener *listener, void *context,
                struct error *err);

    /* How long figures of a status (counters, messages) wait for the next write, in ms: a cluster
     * stores every write and sends it to all who watch. */
    int64_t figures_ms;

    /* A descriptor for poll; it is readable when wait has something to do. */
    int (*wait_fd)(struct cluster *cluster);

    /* Drops unfinished writes and lists without calling their done. */
    void (*free)(struct cluster *cluster);
};

/* Labels of all objects that a resource owns. */
#define LABEL_JOB "windlass.dev/job" /* name of that resource */
#define LABEL_ROLE                                                                                 \
    "windlass.dev/role" /* what it is for: operator/kinds/job/owned.h has the names */
