/* local.h: a cluster (operator/cluster.h) on this machine: objects in memory, pods as child
 * processes. A Service gets the address 127.0.0.1 and a port of this machine, which stays reserved
 * for it. Of Secrets only stringData is read. */
#pragma once

#include "operator/cluster.h"
#include "operator/local/volume.h"

struct local_options {
    struct volume_places places; /* borrowed; state_folder must exist */
    int threads;                 /* processor threads of every pod */
    struct local_gpus *gpus;     /* gpus.h; borrowed; NULL: every pod sees all */
    const char *program_folder;  /* the folder of windlass-agent; NULL: next to this program */
};

/* The folder of windlass-agent next to this program; the caller frees. Fails when it is not there.
 */
NODISCARD int local_find_programs(char **ret_folder, struct error *err);

/* Fails when windlass-agent is not found. */
NODISCARD int local_open(const struct local_options *options, struct cluster **ret_cluster,
                         struct error *err);

/* An object as stored, in a cluster made by local_open; borrowed until the next call of any
 * function; NULL when there is none. */
const json_t *local_find(const struct cluster *cluster, const char *kind, const char *namespace,
                         const char *name);
/* The number of pods whose process runs. */
size_t local_pod_count(const struct cluster *cluster);
/* Sends SIGKILL to all pods. Freeing the cluster does the same. */
void local_kill_all(struct cluster *cluster);
/* The path of the log of a pod of that name; the caller frees it. */
char *local_log_path(const struct cluster *cluster, const char *pod_name);
