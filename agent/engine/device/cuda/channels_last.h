/* channels_last.h: sizes of values in the layout GPU_CHANNELS_LAST (gpu.h): activations and rows in
 * the device's 16-bit type, with the channels of a pixel adjacent and rounded up to
 * KERNELS_LANES. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/tensor.h"

struct gpu;

/* Channels rounded up: the number of elements per pixel. */
static inline int64_t channels_last_pitch(int64_t channels) {
    return (channels + KERNELS_LANES - 1) / KERNELS_LANES * KERNELS_LANES;
}
/* Whether the shape is [n, c, ...] of rank 2 to 5, not empty, with sizes that kernels can count in
 * 32 bits. */
bool channels_last_fits(enum tensor_type type, const struct shape *shape);
size_t channels_last_bytes(const struct shape *shape);
struct kernels_channels_last channels_last_of(const struct gpu *gpu, const struct shape *shape);
