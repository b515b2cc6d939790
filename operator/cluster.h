/* cluster.h: THE interface between the controller and where its objects live. Two implementations:
 * operator/local (objects in memory, pods as child processes of `windlass run`) and operator/kube
 * (a Kubernetes API server). Objects are JSON as Kubernetes has it; an object is named by the
 * apiVersion, kind, metadata.namespace ("default" when absent) and metadata.name inside it.
 * All calls are made from one thread; only wait blocks, and only wait calls back. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum cluster_event {
    CLUSTER_APPLIED, /* the object is new or changed */
    CLUSTER_DELETED, /* the object is gone; this was its last state */
    /* A watch starts, or starts anew because its place in the stream was lost: everything of the
     * kind that is not told of as APPLIED before LISTED is gone. It may start once more before
     * that: then what was told of since the last LISTING counts no longer. The object holds only
     * apiVersion and kind. */
    CLUSTER_LISTING,
    CLUSTER_LISTED,
};

/* object is borrowed and never changes afterwards: json_incref keeps it. */
typedef void cluster_listener(void *context, enum cluster_event event, const json_t *object);

enum cluster_verb {
    /* Makes a new object and never touches one that exists: CONFLICT when the name is taken,
     * whoever took it (a retry of our own lost answer included: the caller knows its own by the uid
     * of the owner). */
    CLUSTER_CREATE,
    /* Changes an object, or makes it (server-side apply with our field manager, by force): what
     * others set and we do not mention stays, what we set ourselves and no longer mention may go,
     * status is not touched. With metadata.uid in it, only that very object:
     * CONFLICT when it is another. */
    CLUSTER_APPLY,
    /* Replaces the status (object.status) of an object that exists. CONFLICT when the stored one
     * has another metadata.resourceVersion (Kubernetes wants one) or, with metadata.uid, another
     * uid; NOT_FOUND when it is gone. */
    CLUSTER_STATUS,
    /* Deletes an object and, in the background, what it owns (ownerReferences). With metadata.uid,
     * only that very object. That it is gone already is no failure. Pods get their
     * terminationGracePeriodSeconds: they stay, with metadata.deletionTimestamp, until they end. */
    CLUSTER_DELETE,
};

/* How a write ended. On success err is NULL and stored is the object as stored, with what the
 * cluster filled in (uid, resourceVersion, a Service's clusterIP, ...; of a Pod, Secret or Event
 * that was created maybe only its metadata; NULL after CLUSTER_DELETE);
 * otherwise stored is NULL and err says why: INVALID when the cluster refuses it (retrying is
 * useless), BUSY, UNAVAILABLE or TIMEOUT when it may or may not have been done. Both borrowed. */
typedef void cluster_done(void *context, const json_t *stored, const struct error *err);

struct cluster {
    const struct cluster_ops *ops;
};

struct cluster_ops {
    /* Asks wait to tell of this kind's objects, all namespaces (or the one the cluster was opened
     * for); of those that carry the label, when label is not NULL. may_be_absent: a cluster that
     * does not know the kind (its definition is not installed) has none of it, and is asked again
     * now and then. */
    int (*watch)(struct cluster *cluster, const char *api_version, const char *kind,
                 const char *label, bool may_be_absent, struct error *err);

    /* Starts a write (the object, which may be kept, never changes afterwards) and calls done
     * exactly once, from a later wait. Writes that are under way at the same time may be carried
     * out in any order: who needs an order waits for done. done may be NULL: nobody wants to know.
     */
    void (*write)(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                  cluster_done *done, void *context);

    /* Looks up, once, what nobody watches: at most 50 objects of the kind and namespace of `like`
     * that the field selector chooses ("involvedObject.uid=..."). done gets a List with `items`,
     * as stored, from a later wait. */
    void (*list)(struct cluster *cluster, const json_t *like, const char *fields,
                 cluster_done *done, void *context);

    /* Tells listener of every change since the last call and calls the done of every finished
     * write, blocking up to timeout_ms until there is something. A signal ends the wait early.
     * Neither listener nor done may call wait; done may call write. */
    int (*wait)(struct cluster *cluster, int timeout_ms, cluster_listener *listener, void *context,
                struct error *err);

    /* Descriptor for poll that is readable when wait has something to do. */
    int (*wait_fd)(struct cluster *cluster);

    /* Unfinished writes and lists are dropped without their done. */
    void (*free)(struct cluster *cluster);
};

#define LABEL_JOB "windlass.dev/job"   /* name of the owning resource */
#define LABEL_ROLE "windlass.dev/role" /* coordinator, worker */
