/* local.h: a cluster on this machine: objects in memory, pods as child processes. A Service gets
 * 127.0.0.1 and a port of this machine that stays reserved for it. Secrets must be stringData. */
#pragma once

#include "operator/cluster.h"
#include "operator/local/volume.h"

struct local_options {
    struct volume_places places; /* borrowed; state_folder must exist */
    int threads;                 /* processor threads of every pod */
    struct gpus *gpus;           /* gpus.h; borrowed; NULL: every pod sees all */
    const char *program_folder;  /* where windlass-agent lies; NULL: beside this program */
};

/* Fails when there is no windlass-agent. */
NODISCARD int local_open(const struct local_options *options, struct cluster **ret_cluster,
                         struct error *err);

/* Of a cluster that local_open made: an object as it is stored, borrowed until the next call of any
 * kind; NULL when there is none. */
const json_t *local_find(const struct cluster *cluster, const char *kind, const char *namespace,
                         const char *name);
/* Pods that still run. */
size_t local_pod_count(const struct cluster *cluster);
/* SIGKILL to all of them. Freeing the cluster does that, too. */
void local_kill_all(struct cluster *cluster);
/* The log file of a pod of that name; the caller frees. */
char *local_log_path(const struct cluster *cluster, const char *pod_name);
