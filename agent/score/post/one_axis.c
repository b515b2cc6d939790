// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/one_axis.h"

int64_t one_axis_size(const struct shape *shape) {
    int64_t size = 1;
    for (int i = 1; i < shape->rank; i++) {
        if (shape->dims[i] < 1 || (size > 1 && shape->dims[i] > 1)) {
            return 0;
        }
        size *= shape->dims[i];
    }
    return shape->rank > 0 ? size : 0;
}
