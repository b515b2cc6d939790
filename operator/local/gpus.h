/* gpus.h: the GPUs of this machine, parted among pods: each that asks for some (resources.limits,
 * nvidia.com/gpu) has these to itself, as on a cluster, by CUDA_VISIBLE_DEVICES. */
#pragma once

#include "lib/base.h"

enum { GPUS_MAX = 64 };

struct gpus;

/* Those that CUDA_VISIBLE_DEVICES lists, else those that NVIDIA's driver has made (/dev/nvidia0,
 * ...). None: it is not known how many there are, or there are none. */
struct gpus *gpus_find(void);
void gpus_free(struct gpus *gpus);
size_t gpus_count(const struct gpus *gpus); /* of NULL: 0 */

/* So many free ones for the holder, until it gives them back: "0,1". NULL: not so many are free, or
 * count is 0. The caller frees the text. */
char *gpus_take(struct gpus *gpus, size_t count, const void *holder);
void gpus_give(struct gpus *gpus, const void *holder); /* all that it holds; none is fine */
