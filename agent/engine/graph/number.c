// SPDX-License-Identifier: Apache-2.0
/* One element of a tensor of any type. */
#include "agent/engine/tensor.h"

#include "lib/number/half.h"

#include <math.h>

/* DO(type of the tensor, C type): every type with which C can compute. */
#define NUMBERS(DO)                                                                                \
    DO(TENSOR_FLOAT32, float)                                                                      \
    DO(TENSOR_FLOAT64, double)                                                                     \
    DO(TENSOR_INT8, int8_t)                                                                        \
    DO(TENSOR_INT16, int16_t)                                                                      \
    DO(TENSOR_INT32, int32_t)                                                                      \
    DO(TENSOR_INT64, int64_t)                                                                      \
    DO(TENSOR_UINT8, uint8_t)                                                                      \
    DO(TENSOR_UINT16, uint16_t)                                                                    \
    DO(TENSOR_UINT32, uint32_t)                                                                    \
    DO(TENSOR_UINT64, uint64_t)                                                                    \
    DO(TENSOR_BOOL, uint8_t)

double tensor_number(const struct tensor *tensor, int64_t index) {
    switch (tensor->type) {
#define GET(name, type)                                                                            \
    case name:                                                                                     \
        return (double)((const type *)tensor->data)[index];
        NUMBERS(GET)
    case TENSOR_FLOAT16:
        return (double)half_to_float(((const uint16_t *)tensor->data)[index]);
    case TENSOR_BFLOAT16:
        return (double)bfloat_to_float(((const uint16_t *)tensor->data)[index]);
    default:
        return NAN;
    }
}

/* Rounds towards zero and saturates to 64 bits; the low bits are kept. */
static uint64_t whole(double value, bool is_signed) {
    if (isnan(value)) {
        return 0;
    }
    if (value < 0 || is_signed) {
        return value >= 0x1p63    ? (uint64_t)INT64_MAX
               : value <= -0x1p63 ? (uint64_t)INT64_MIN
                                  : (uint64_t)(int64_t)value;
    }
    return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

void tensor_put_number(struct tensor *tensor, int64_t index, double value) {
    switch (tensor->type) {
    case TENSOR_FLOAT32:
        ((float *)tensor->data)[index] = (float)value;
        break;
    case TENSOR_FLOAT64:
        ((double *)tensor->data)[index] = value;
        break;
    case TENSOR_FLOAT16:
        ((uint16_t *)tensor->data)[index] = half_from_double(value);
        break;
    case TENSOR_BFLOAT16:
        ((uint16_t *)tensor->data)[index] = bfloat_from_double(value);
        break;
    case TENSOR_BOOL:
        ((uint8_t *)tensor->data)[index] = value != 0;
        break;
    default:
        tensor_put_whole(tensor, index, whole(value, tensor->type != TENSOR_UINT64));
    }
}

uint64_t tensor_whole(const struct tensor *tensor, int64_t index) {
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

void tensor_put_whole(struct tensor *tensor, int64_t index, uint64_t value) {
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

static int compare_numbers(double a, double b) {
    return isnan(a) || isnan(b) ? 2 : (a > b) - (a < b);
}

int tensor_compare(const struct tensor *tensor, int64_t a, int64_t b) {
    if (tensor->type == TENSOR_INT64) {
        const int64_t *data = tensor->data;
        return (data[a] > data[b]) - (data[a] < data[b]);
    }
    if (tensor->type == TENSOR_UINT64) {
        const uint64_t *data = tensor->data;
        return (data[a] > data[b]) - (data[a] < data[b]);
    }
    return compare_numbers(tensor_number(tensor, a), tensor_number(tensor, b));
}
