/* cluster.h: THE interface between the controller and where its objects live. Two implementations:
 * operator/local (objects in memory, pods as child processes of `windlass run`) and operator/kube
 * (a Kubernetes API server). Objects are JSON as Kubernetes has it; a kind is named by apiVersion
 * and kind inside them. All calls are made from the controller's one thread. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum cluster_event { CLUSTER_APPLIED, CLUSTER_DELETED };

/* object is borrowed. */
typedef void cluster_listener(void *context, enum cluster_event event, const json_t *object);

struct cluster {
    const struct cluster_ops *ops;
};

struct cluster_ops {
    /* Makes or changes an object (server-side apply with our field manager): fields not mentioned
     * stay. *ret_object (owned, may be NULL if not wanted) is the object as stored, with what the
     * cluster filled in (uid, a Service's clusterIP, ...). */
    int (*apply)(struct cluster *cluster, const json_t *object, json_t **ret_object,
                 struct error *err);
    /* Replaces the status of an object that exists. NOT_FOUND, CONFLICT. */
    int (*patch_status)(struct cluster *cluster, const json_t *object, const json_t *status,
                        struct error *err);
    /* NOT_FOUND is no failure. Owned objects (ownerReferences) go with it. */
    int (*delete)(struct cluster *cluster, const char *kind, const char *namespace,
                  const char *name, struct error *err);
    /* Tells listener of every change to objects of the watched kinds, blocking up to timeout_ms
     * until at least one came. The first calls tell of everything that exists. */
    int (*wait)(struct cluster *cluster, int timeout_ms, cluster_listener *listener, void *context,
                struct error *err);
    /* Descriptor that becomes readable when wait has something to tell, or -1. */
    int (*wait_fd)(struct cluster *cluster);
    void (*free)(struct cluster *cluster);
};

#define LABEL_JOB "windlass.dev/job"   /* name of the owning resource */
#define LABEL_ROLE "windlass.dev/role" /* coordinator, worker */
