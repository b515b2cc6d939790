/* mounts.h: why a pod's volumes are not mounted, in the kubelet's words, kept between passes:
 * kept["mounts"]. */
#pragma once

#include "operator/control/controller.h"

/* Only the kubelet knows why, and tells it in Events about the pod. They are looked up when a pod
 * has been getting ready for long: for one pod of a job at a time, not often. */
void mounts_query(struct reconcile *request, json_t *kept, const json_t *pods);
/* The answer. */
void mounts_note(json_t *kept, const json_t *list);
