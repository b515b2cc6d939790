// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/gpu.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"

bool channels_last_fits(enum tensor_type type, const struct shape *shape) {
    int64_t count = shape_count(shape);
    return type == TENSOR_FLOAT32 && shape->rank >= 2 && shape->rank <= 5 && count > 0 &&
           shape->dims[1] < 1 << 20 && count < (int64_t)1 << 40;
}

struct kernels_channels_last channels_last_of(const struct gpu *gpu, const struct shape *shape) {
    struct kernels_channels_last nhwc = {.type = gpu->type,
                                         .n = shape->dims[0],
                                         .pixels = 1,
                                         .channels = (int)shape->dims[1],
                                         .pitch = (int)channels_last_pitch(shape->dims[1])};
    for (int i = 2; i < shape->rank; i++) {
        nhwc.pixels *= shape->dims[i];
    }
    return nhwc;
}

size_t channels_last_bytes(const struct shape *shape) {
    int64_t pixels = shape_count(shape) / shape->dims[1];
    return (size_t)(pixels * channels_last_pitch(shape->dims[1])) * 2;
}
