// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/reference/walk.h"

#include <string.h>

void walk_each(const struct walk *walk, walk_row *row, void *context) {
    int rank = walk->shape.rank, last = rank - 1;
    int64_t index[TENSOR_RANK_MAX] = {0}, offsets[WALK_OPERANDS_MAX], steps[WALK_OPERANDS_MAX];
    if (shape_count(&walk->shape) == 0) {
        return;
    }
    for (int k = 0; k < walk->operand_count; k++) {
        offsets[k] = walk->start[k];
        steps[k] = rank ? walk->strides[k][last] : 0;
    }
    for (;;) {
        row(context, offsets, steps, rank ? walk->shape.dims[last] : 1);
        int i = last - 1;
        while (i >= 0 && ++index[i] == walk->shape.dims[i]) {
            for (int k = 0; k < walk->operand_count; k++) {
                offsets[k] -= walk->strides[k][i] * (index[i] - 1);
            }
            index[i--] = 0;
        }
        if (i < 0) {
            return;
        }
        for (int k = 0; k < walk->operand_count; k++) {
            offsets[k] += walk->strides[k][i];
        }
    }
}

void walk_plain_strides(const struct shape *shape, int64_t ret_strides[TENSOR_RANK_MAX]) {
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        ret_strides[i] = stride;
        stride *= MAX(shape->dims[i], 1);
    }
}

void walk_copy_row(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t count,
                   size_t size) {
    int64_t width = (int64_t)size;
    if (from_step == 1 && to_step == 1) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const char *source = from + i * from_step * width;
        char *target = to + i * to_step * width;
        switch (size) { /* with constant sizes, copies are single instructions */
        case 2:
            memcpy(target, source, 2);
            break;
        case 4:
            memcpy(target, source, 4);
            break;
        case 8:
            memcpy(target, source, 8);
            break;
        default:
            *target = *source;
        }
    }
}

struct copy_context {
    size_t size;
    const char *from;
    char *to;
};

static void copy_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct copy_context *copy = context;
    int64_t size = (int64_t)copy->size;
    walk_copy_row(copy->from + offsets[0] * size, steps[0], copy->to + offsets[1] * size, steps[1],
                  count, copy->size);
}

void walk_next(const struct shape *shape, int64_t index[TENSOR_RANK_MAX]) {
    for (int i = shape->rank - 1; i >= 0 && ++index[i] == shape->dims[i]; i--) {
        index[i] = 0;
    }
}

void walk_copy(const struct walk *walk, size_t size, const void *from, void *to) {
    struct copy_context copy = {size, from, to};
    walk_each(walk, copy_row, &copy);
}
