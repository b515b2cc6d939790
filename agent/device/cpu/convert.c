// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/reference.h"
#include "agent/device/cpu/rows.h"
#include "agent/ops/elementwise.h"

#include <math.h>
#include <string.h>

static bool is_real(enum tensor_type type) {
    return type == TENSOR_FLOAT32 || type == TENSOR_FLOAT64 || type == TENSOR_FLOAT16 ||
           type == TENSOR_BFLOAT16;
}

static uint64_t get_integer(const struct tensor *tensor, int64_t index) {
    switch (tensor->type) {
    case TENSOR_INT64:
    case TENSOR_UINT64:
        return ((const uint64_t *)tensor->data)[index];
    case TENSOR_INT32:
        return (uint64_t)((const int32_t *)tensor->data)[index];
    case TENSOR_UINT32:
        return ((const uint32_t *)tensor->data)[index];
    case TENSOR_INT16:
        return (uint64_t)((const int16_t *)tensor->data)[index];
    case TENSOR_UINT16:
        return ((const uint16_t *)tensor->data)[index];
    case TENSOR_INT8:
        return (uint64_t)((const int8_t *)tensor->data)[index];
    default:
        return ((const uint8_t *)tensor->data)[index];
    }
}

/* Keeps the low bits, as C does between integers. */
static void put_integer(struct tensor *tensor, int64_t index, uint64_t value) {
    switch (tensor_type_size(tensor->type)) {
    case 8:
        ((uint64_t *)tensor->data)[index] = value;
        break;
    case 4:
        ((uint32_t *)tensor->data)[index] = (uint32_t)value;
        break;
    case 2:
        ((uint16_t *)tensor->data)[index] = (uint16_t)value;
        break;
    default:
        ((uint8_t *)tensor->data)[index] =
            tensor->type == TENSOR_BOOL ? value != 0 : (uint8_t)value;
    }
}

static int cast_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    struct tensor *y = call->outputs[0];
    int64_t count = shape_count(&x->shape);
    bool is_whole = !is_real(x->type) && !is_real(y->type);
    for (int64_t i = 0; i < count; i++) {
        if (is_whole) {
            put_integer(y, i, get_integer(x, i));
        } else {
            tensor_put_number(y, i, tensor_number(x, i));
        }
    }
    return 0;
}
const struct kernel reference_cast = {"reference cast", cast_run};

struct where {
    size_t size;
    const uint8_t *condition;
    const char *yes, *no;
    char *to;
};

static void where_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct where *where = context;
    int64_t size = (int64_t)where->size;
    for (int64_t i = 0; i < count; i++) {
        const char *from = where->condition[offsets[0] + i * steps[0]]
                               ? where->yes + (offsets[1] + i * steps[1]) * size
                               : where->no + (offsets[2] + i * steps[2]) * size;
        memcpy(where->to + (offsets[3] + i) * size, from, where->size);
    }
}

static int where_run(const struct call *call, struct error *err UNUSED) {
    struct tensor *y = call->outputs[0];
    struct rows rows = {.shape = y->shape, .operand_count = 4};
    struct where where = {tensor_type_size(y->type), call->inputs[0]->data, call->inputs[1]->data,
                          call->inputs[2]->data, y->data};
    for (int i = 0; i < 3; i++) {
        broadcast_strides(&call->inputs[i]->shape, &y->shape, rows.strides[i]);
    }
    rows_plain_strides(&y->shape, rows.strides[3]);
    rows_each(&rows, where_row, &where);
    return 0;
}
const struct kernel reference_where = {"reference where", where_run};
