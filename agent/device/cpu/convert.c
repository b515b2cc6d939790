// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/reference.h"
#include "agent/device/cpu/rows.h"
#include "agent/ops/elementwise.h"

#include <math.h>
#include <string.h>

static bool type_is_real(enum tensor_type type) {
    return type == TENSOR_FLOAT32 || type == TENSOR_FLOAT64;
}

static int64_t get_integer(const struct tensor *tensor, int64_t index) {
    switch (tensor->type) {
    case TENSOR_INT64:
        return ((const int64_t *)tensor->data)[index];
    case TENSOR_INT32:
        return ((const int32_t *)tensor->data)[index];
    case TENSOR_INT8:
        return ((const int8_t *)tensor->data)[index];
    default:
        return ((const uint8_t *)tensor->data)[index];
    }
}

static double get_real(const struct tensor *tensor, int64_t index) {
    return tensor->type == TENSOR_FLOAT32 ? (double)((const float *)tensor->data)[index]
                                          : ((const double *)tensor->data)[index];
}

/* Keeps the low bits, as C does between integers. */
static void put_integer(struct tensor *tensor, int64_t index, int64_t value) {
    switch (tensor->type) {
    case TENSOR_FLOAT32:
        ((float *)tensor->data)[index] = (float)value;
        break;
    case TENSOR_FLOAT64:
        ((double *)tensor->data)[index] = (double)value;
        break;
    case TENSOR_INT64:
        ((int64_t *)tensor->data)[index] = value;
        break;
    case TENSOR_INT32:
        ((uint32_t *)tensor->data)[index] = (uint32_t)value;
        break;
    case TENSOR_BOOL:
        ((uint8_t *)tensor->data)[index] = value != 0;
        break;
    default:
        ((uint8_t *)tensor->data)[index] = (uint8_t)value;
    }
}

/* Real to integer rounds towards zero; what does not fit is cut to the nearest int64. */
static void put_real(struct tensor *tensor, int64_t index, double value) {
    if (tensor->type == TENSOR_FLOAT32) {
        ((float *)tensor->data)[index] = (float)value;
    } else if (tensor->type == TENSOR_FLOAT64) {
        ((double *)tensor->data)[index] = value;
    } else if (tensor->type == TENSOR_BOOL) {
        ((uint8_t *)tensor->data)[index] = value != 0;
    } else {
        put_integer(tensor, index,
                    isnan(value)      ? 0
                    : value >= 0x1p63 ? INT64_MAX
                    : value < -0x1p63 ? INT64_MIN
                                      : (int64_t)value);
    }
}

static int cast_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    int64_t count = shape_count(&x->shape);
    for (int64_t i = 0; i < count; i++) {
        if (type_is_real(x->type)) {
            put_real(call->outputs[0], i, get_real(x, i));
        } else {
            put_integer(call->outputs[0], i, get_integer(x, i));
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
