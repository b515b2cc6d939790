// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/array_values.h"

#include <string.h>

enum tensor_type array_value_type(enum npy_type type) {
    return type == NPY_UINT8 ? TENSOR_UINT8 : type > NPY_FLOAT64 ? TENSOR_INT64 : TENSOR_FLOAT32;
}

int64_t array_value_integer(enum npy_type type, const void *values, int64_t i) {
    switch (type) {
    case NPY_INT8:
        return ((const int8_t *)values)[i];
    case NPY_UINT8:
    case NPY_BOOL:
        return ((const uint8_t *)values)[i];
    case NPY_INT16:
    case NPY_UINT16:
    case NPY_INT32:
        return ((const int32_t *)values)[i];
    default:
        return ((const int64_t *)values)[i];
    }
}

void array_value_convert(enum npy_type type, const void *from, int64_t count,
                         enum tensor_type wanted, void *to) {
    if (wanted == TENSOR_INT64) {
        for (int64_t i = 0; i < count; i++) {
            ((int64_t *)to)[i] = array_value_integer(type, from, i);
        }
    } else if (type == NPY_FLOAT64) {
        for (int64_t i = 0; i < count; i++) {
            ((float *)to)[i] = (float)((const double *)from)[i];
        }
    } else {
        memcpy(to, from, (size_t)count * npy_value_bytes(type));
    }
}
