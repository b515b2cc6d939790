/* waiting.h: why a pod does not run yet, and what the user can do about it. Pure. */
#pragma once

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/pod_phase.h"

struct waiting {
    const struct pod_phase *phase;
    int running, wanted;       /* workers */
    bool is_placed_lately;     /* placed less than WAITING_CONFIG_MS ago, as far as known */
    const char *mount_problem; /* the kubelet's message about its volumes; NULL: none known */
    const json_t *service;     /* the job's; NULL: none known */
    const json_t *before;      /* the previous condition Succeeded; NULL: none */
};

/* WaitingForGPU, WaitingForNodes, ImagePullFailed, VolumeFailed, ConfigFailed, or Pending. */
void waiting_report(const struct waiting *waiting, struct conditions *conditions);

/* Right after a pod was placed, the kubelet may not find an object that it finds at its next pass
 * (a Secret that is not in its cache yet). Until this time that is not a ConfigFailed. */
enum { WAITING_CONFIG_MS = 10000 };
bool waiting_is_for_config(const struct pod_phase *phase);

/* A pod that has had a node for this long and whose container does not exist yet: the kubelet may
 * have reported an error about its volumes. Before that, asking is not worth a request. */
enum { WAITING_MOUNT_MS = 20000 };
bool waiting_is_for_mounts(const struct pod_phase *phase, int64_t now_ms);
