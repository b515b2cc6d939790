/* waiting.h: why a pod does not run yet, told so that one knows what to do. Pure. */
#pragma once

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/pod_phase.h"

struct waiting {
    const struct pod_phase *phase;
    int running, wanted;       /* workers */
    bool is_placed_lately;     /* less than WAITING_CONFIG_MS ago, as far as is known */
    const char *mount_problem; /* the kubelet's words about its volumes; NULL: none known */
    const json_t *before;      /* the condition Succeeded as it was; NULL: none */
};

/* WaitingForGPU, WaitingForNodes, ImagePullFailed, VolumeFailed, ConfigFailed, or Pending. */
void waiting_tell(const struct waiting *waiting, struct conditions *conditions);

/* What the kubelet does not find right after a pod was placed (a Secret that its cache has not seen
 * yet) it may find at its next pass: until then that is no ConfigFailed. */
enum { WAITING_CONFIG_MS = 10000 };
bool waiting_is_for_config(const struct pod_phase *phase);

/* A pod that has had a node for so long and whose container is not made yet: what does the kubelet
 * say about its volumes? Until then nobody needs to ask. */
enum { WAITING_MOUNT_MS = 20000 };
bool waiting_is_for_mounts(const struct pod_phase *phase, int64_t now_ms);
