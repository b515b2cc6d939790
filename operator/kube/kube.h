/* kube.h: a Kubernetes API server as a cluster (operator/cluster.h). One thread; everything under
 * way moves on inside its wait. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

enum {
    KUBE_WATCHES_MAX = 16,
    /* Under way at the same time, of one namespace 64: one whose webhook hangs slows no other. The
     * others wait in line. */
    KUBE_WRITES_MAX = 256,
    KUBE_LIST_MAX = 50,       /* objects of a list that is asked for once */
    KUBE_WRITE_TRIES_MAX = 8, /* of one write, before its error is told */
};

struct kube_options {
    struct config_options config;
    const char *namespace; /* to watch; NULL: all */
};

/* Reads the configuration; asks nothing yet: a server that is away is asked again and again.
 * Fails with INVALID when the configuration is wrong. */
NODISCARD int kube_open(const struct kube_options *options, struct cluster **ret_cluster,
                        struct error *err);

/* What stands behind it, for those who ask more of the server than a cluster can. Borrowed. */
const struct config *kube_config(const struct cluster *cluster);
struct client *kube_client(struct cluster *cluster);
struct loop *kube_loop(struct cluster *cluster);

/* Why a watch is behind at the moment; NULL: all is well. Borrowed, until the next wait. */
const struct error *kube_trouble(const struct cluster *cluster);
/* Whether the server has answered every watch at all, so that address, credentials and rights are
 * good; and whether all of them have been listed once. */
bool kube_is_answered(const struct cluster *cluster);
bool kube_is_listed(const struct cluster *cluster);
