// SPDX-License-Identifier: Apache-2.0
/* Counts, compares and prints shapes. */
#include "agent/engine/tensor.h"

#include <stdio.h>
#include <string.h>

static const int64_t elements_max = (int64_t)1 << 40;

int64_t shape_count(const struct shape *shape) {
    int64_t count = 1;
    bool empty = false;
    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dims[i];
        if (size < 0) {
            return -1;
        }
        empty |= size == 0;
        if (__builtin_mul_overflow(count, MAX(size, 1), &count) || count > elements_max) {
            return -1;
        }
    }
    return empty ? 0 : count;
}

int64_t shape_pixels(const struct shape *shape) {
    int64_t count = 1;
    for (int i = 2; i < shape->rank; i++) {
        count *= shape->dims[i];
    }
    return count;
}

bool shape_equal(const struct shape *a, const struct shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank) == 0;
}

void shape_format(const struct shape *shape, char text[static 128]) {
    if (shape->rank == 0) {
        snprintf(text, 128, "scalar");
        return;
    }
    size_t used = 0;
    for (int i = 0; i < shape->rank && used < 128; i++) {
        const char *join = i ? "x" : "";
        int length = shape->dims[i] < 0 ? snprintf(text + used, 128 - used, "%s?", join)
                                        : snprintf(text + used, 128 - used, "%s%lld", join,
                                                   (long long)shape->dims[i]);
        used += (size_t)length;
    }
}
