/* mounts.h: the kubelet's message why a pod's volumes are not mounted, kept between passes:
 * kept["mounts"]. */
#pragma once

#include "operator/control/controller.h"

/* Only the kubelet knows the reason, and it reports it in Events about the pod. They are listed
 * when a pod has been starting for a long time: for one pod of a job at a time, and rarely. */
void job_mounts_query(struct reconcile *request, json_t *kept, const json_t *pods);
/* Stores the answer. */
void job_mounts_note(json_t *kept, const json_t *list);
