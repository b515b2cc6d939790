/* kube.h: a Kubernetes API server as a cluster (operator/cluster.h). All its work is done inside
 * its `wait`, in one thread. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

enum {
    KUBE_WATCHES_MAX = 16,
    /* Writes under way at the same time, 64 of them per namespace: a namespace whose webhook hangs
     * does not slow down others. Further writes wait in a queue. */
    KUBE_WRITES_MAX = 256,
    KUBE_FIGURES_MS = 10000,  /* cluster.h's figures_ms */
    KUBE_LIST_MAX = 50,       /* objects of a one-time list */
    KUBE_WRITE_TRIES_MAX = 8, /* of one write, before its error is reported */
    /* Tries after a 500 without Retry-After: for writes whose object is reconciled again, and for
       Events and lists whose message names a webhook or a full etcd. Also the tries, after any
       failure, of a write that is asked again and whose tries were all used up the last time. */
    KUBE_REFUSED_TRIES_MAX = 1,
};

struct kube_options {
    struct config_options config;
    const char *namespace; /* to watch; NULL: all */
    /* A version that a write has already returned is not reported again by the watch, so its event
     * need not be parsed. Only the last versions since the last CLUSTER_LISTING are remembered. */
    bool skips_answered;
};

/* Reads the configuration and sends no request yet: an unreachable server is retried. Fails with
 * INVALID when the configuration is invalid. */
NODISCARD int kube_open(const struct kube_options *options, struct cluster **ret_cluster,
                        struct error *err);

/* The parts of the cluster, for callers that need requests beyond the cluster's interface.
 * Borrowed. */
const struct config *kube_config(const struct cluster *cluster);
struct client *kube_client(struct cluster *cluster);
struct loop *kube_loop(struct cluster *cluster);

/* Why a watch does not get events at the moment; NULL: all work. Borrowed until the next wait. */
const struct error *kube_error(const struct cluster *cluster);
/* True when the server has answered every watch, which shows that address, credentials and
 * permissions are right; and true when every watch has read a complete list. */
bool kube_is_answered(const struct cluster *cluster);
bool kube_is_listed(const struct cluster *cluster);
