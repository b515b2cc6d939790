/* gpus.h: the GPUs of this machine, divided among pods: each pod that asks for GPUs
 * (resources.limits, nvidia.com/gpu) gets some exclusively, as on a cluster, through
 * CUDA_VISIBLE_DEVICES. */
#pragma once

#include "lib/base.h"

enum { GPUS_MAX = 64 };

struct local_gpus;

/* Finds the GPUs in CUDA_VISIBLE_DEVICES, or else those of NVIDIA's driver (/dev/nvidia0, ...). The
 * result has no GPUs when there are none or their number is unknown; it is never NULL. */
struct local_gpus *local_gpus_find(void);
void local_gpus_free(struct local_gpus *gpus);
size_t local_gpus_count(const struct local_gpus *gpus); /* 0 for NULL */

/* Reserves `count` free GPUs until local_gpus_give and returns their numbers ("0,1"), which the
 * caller frees. NULL: too few are free, or count is 0. holder: a pointer that identifies the pod.
 */
char *local_gpus_take(struct local_gpus *gpus, size_t count, const void *holder);
void local_gpus_give(struct local_gpus *gpus, const void *holder); /* all of the holder's, if any */
