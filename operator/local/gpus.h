/* gpus.h: the GPUs of this machine, divided among pods: each pod that asks for GPUs
 * (resources.limits, nvidia.com/gpu) gets some exclusively, as on a cluster, through
 * CUDA_VISIBLE_DEVICES. */
#pragma once

#include "lib/base.h"

enum { GPUS_MAX = 64 };

struct local_gpus;

/* The GPUs in CUDA_VISIBLE_DEVICES, or those of NVIDIA's driver (/dev/nvidia0, ...). The set is
 * empty when there are none or their number is unknown. */
struct local_gpus *local_gpus_find(void);
void local_gpus_free(struct local_gpus *gpus);
size_t local_gpus_count(const struct local_gpus *gpus); /* 0 for NULL */

/* Reserves count free GPUs for the holder, until local_gpus_give: "0,1". NULL: too few are free, or
 * count is 0. The caller frees the text. */
char *local_gpus_take(struct local_gpus *gpus, size_t count, const void *holder);
void local_gpus_give(struct local_gpus *gpus, const void *holder); /* all of the holder's, if any */
