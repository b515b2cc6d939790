// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/steps.h"

struct conv_operand step_operand(const struct vector_ops *ops, const struct tensor *tensor,
                                 int layout) {
    struct conv_operand operand = {.data = tensor->data, .blocked = layout != 0};
    const int64_t *dims = tensor->shape.dims;
    if (layout & LAYOUT_AFFINE) {
        operand.affine = operand.data + conv_blocked_count(ops, (int)dims[0], (int)dims[1],
                                                           (int)shape_pixels(&tensor->shape), 1);
        operand.relu = layout & LAYOUT_RELU;
    }
    return operand;
}

size_t step_layout_bytes(const struct vector_ops *ops, const struct shape *shape, int layout) {
    int n = (int)shape->dims[0], c = (int)shape->dims[1];
    size_t count = conv_blocked_count(ops, n, c, (int)shape_pixels(shape), 1);
    return (count + (layout & LAYOUT_AFFINE ? conv_affine_count(ops, n, c) : 0)) * sizeof(float);
}

struct pending step_pending(const struct vector_ops *ops, const struct conv_operand *operand,
                            const struct shape *shape, int n, int block) {
    size_t b = (size_t)ops->block, channels = conv_affine_count(ops, 1, (int)shape->dims[1]) / 2;
    struct pending pending = {.relu = operand->relu};
    if (operand->affine) {
        pending.scale = operand->affine + (size_t)n * 2 * channels + (size_t)block * b;
        pending.shift = pending.scale + channels;
    }
    return pending;
}
