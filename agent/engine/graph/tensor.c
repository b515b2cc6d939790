// SPDX-License-Identifier: Apache-2.0
/* Types of tensors: size, name, ONNX's number; memory of a tensor. */
#include "agent/engine/tensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    int onnx_type; /* TensorProto.DataType in onnx.proto */
} types[] = {
    [TENSOR_FLOAT32] = {"float32", 4, 1},    [TENSOR_INT64] = {"int64", 8, 7},
    [TENSOR_INT32] = {"int32", 4, 6},        [TENSOR_UINT8] = {"uint8", 1, 2},
    [TENSOR_INT8] = {"int8", 1, 3},          [TENSOR_BOOL] = {"bool", 1, 9},
    [TENSOR_FLOAT64] = {"float64", 8, 11},   [TENSOR_FLOAT16] = {"float16", 2, 10},
    [TENSOR_BFLOAT16] = {"bfloat16", 2, 16}, [TENSOR_INT16] = {"int16", 2, 5},
    [TENSOR_UINT16] = {"uint16", 2, 4},      [TENSOR_UINT32] = {"uint32", 4, 12},
    [TENSOR_UINT64] = {"uint64", 8, 13},
};
static_assert(ARRAY_LEN(types) == TENSOR_TYPE_COUNT, "one row per type");

size_t tensor_type_size(enum tensor_type type) {
    assert(type < TENSOR_TYPE_COUNT);
    return types[type].size;
}

const char *tensor_type_name(enum tensor_type type) {
    assert(type < TENSOR_TYPE_COUNT);
    return types[type].name;
}

bool tensor_type_is_real(enum tensor_type type) {
    return type == TENSOR_FLOAT32 || type == TENSOR_FLOAT64 || type == TENSOR_FLOAT16 ||
           type == TENSOR_BFLOAT16;
}

int tensor_type_onnx(enum tensor_type type) {
    assert(type < TENSOR_TYPE_COUNT);
    return types[type].onnx_type;
}

bool tensor_type_from_onnx(int64_t onnx_type, enum tensor_type *ret_type) {
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (types[i].onnx_type == onnx_type) {
            *ret_type = (enum tensor_type)i;
            return true;
        }
    }
    return false;
}

int tensor_init(struct tensor *tensor, enum tensor_type type, const struct shape *shape,
                struct error *err) {
    int64_t count = shape_count(shape);
    if (count < 0) {
        char text[128];
        shape_format(shape, text);
        return error_set(err, ERROR_INVALID, "a tensor of shape %s cannot be made", text);
    }
    size_t size = ((size_t)count * tensor_type_size(type) + 63) / 64 * 64;
    void *data = aligned_alloc(64, MAX(size, 64));
    if (!data) {
        return error_set(err, ERROR_EXHAUSTED, "out of memory: a tensor of %zu bytes", size);
    }
    memset(data, 0, MAX(size, 64));
    *tensor = (struct tensor){.type = type, .shape = *shape, .data = data, .owned = true};
    return 0;
}

void tensor_release(struct tensor *tensor) {
    if (tensor->owned) {
        free(tensor->data);
    }
    *tensor = (struct tensor){0};
}
