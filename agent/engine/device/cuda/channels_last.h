/* channels_last.h: pictures and rows in the device's type of two bytes, the channels of a pixel
 * together and rounded up to KERNELS_LANES: the sizes of GPU_CHANNELS_LAST (gpu.h). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_last.h"
#include "agent/engine/tensor.h"

struct gpu;

/* Channels rounded up: what a pixel takes. */
static inline int64_t channels_last_pitch(int64_t channels) {
    return (channels + KERNELS_LANES - 1) / KERNELS_LANES * KERNELS_LANES;
}
/* [n, c, ...] of rank 2 to 5, none of it empty, and numbers that kernels count in 32 bits. */
bool channels_last_fits(enum tensor_type type, const struct shape *shape);
size_t channels_last_bytes(const struct shape *shape);
struct kernels_last channels_last_of(const struct gpu *gpu, const struct shape *shape);
