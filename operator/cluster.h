/* cluster.h: THE interface between the controller and where its objects live. Two implementations:
 * operator/local (objects in memory, pods as child processes of `windlass run`) and operator/kube
 * (a Kubernetes API server). Objects are JSON as Kubernetes has it; an object is named by the
 * apiVersion, kind, metadata.namespace ("default" when absent) and metadata.name inside it.
 * All calls are made from the controller's one thread; only wait blocks for long. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum cluster_event {
    CLUSTER_APPLIED, /* the object is new or changed */
    CLUSTER_DELETED, /* the object is gone; this was its last state */
    /* A watch starts, or starts anew because its place in the stream was lost: everything of the
     * kind that is not told of as APPLIED before LISTED is gone. The object holds only apiVersion
     * and kind. */
    CLUSTER_LISTING,
    CLUSTER_LISTED,
};

/* object is borrowed and never changes afterwards: json_incref keeps it. */
typedef void cluster_listener(void *context, enum cluster_event event, const json_t *object);

struct cluster {
    const struct cluster_ops *ops;
};

struct cluster_ops {
    /* Asks wait to tell of this kind's objects, all namespaces; of those that carry the label, when
     * label is not NULL. */
    int (*watch)(struct cluster *cluster, const char *api_version, const char *kind,
                 const char *label, struct error *err);

    /* Makes or changes an object (server-side apply with our field manager, by force): fields not
     * mentioned stay, status is not touched. With metadata.uid in it, only that very object is
     * changed. *ret_object (owned; ret_object may be NULL) is the object as stored, with what the
     * cluster filled in (uid, a Service's clusterIP, ...). INVALID when the cluster refuses it,
     * CONFLICT when uid is another's or the owner is gone. */
    int (*apply)(struct cluster *cluster, const json_t *object, json_t **ret_object,
                 struct error *err);

    /* Replaces the status of an object that exists. With metadata.resourceVersion in the object,
     * CONFLICT when the stored one is newer. NOT_FOUND when it is gone. */
    int (*patch_status)(struct cluster *cluster, const json_t *object, const json_t *status,
                        struct error *err);

    /* Deletes an object and, in the background, what it owns (ownerReferences). With metadata.uid
     * in it, only that very object. That it is gone already is no failure. Pods get their
     * terminationGracePeriodSeconds: they stay, with metadata.deletionTimestamp, until they end. */
    int (*delete)(struct cluster *cluster, const json_t *object, struct error *err);

    /* Tells listener of every change since the last call, blocking up to timeout_ms until there is
     * one. A signal ends the wait early. The listener must not call the cluster. */
    int (*wait)(struct cluster *cluster, int timeout_ms, cluster_listener *listener, void *context,
                struct error *err);

    /* Descriptor for poll that is readable when wait has something to do. */
    int (*wait_fd)(struct cluster *cluster);

    void (*free)(struct cluster *cluster);
};

#define LABEL_JOB "windlass.dev/job"   /* name of the owning resource */
#define LABEL_ROLE "windlass.dev/role" /* coordinator, worker */
