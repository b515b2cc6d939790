// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/slices.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { WIDTH_MAX = 1 << 24 }; /* so sums of several widths do not overflow */

/* The C types of a slice's values (npy_read), and the tensor types that can hold them. */
static const struct {
    enum tensor_type as; /* the same, byte for byte */
    unsigned also;       /* types that take them by conversion, as bits */
} kinds[] = {
#define BIT(type) (1u << (type))
    [NPY_FLOAT16] = {TENSOR_FLOAT32, BIT(TENSOR_FLOAT64)},
    [NPY_FLOAT32] = {TENSOR_FLOAT32, BIT(TENSOR_FLOAT64)},
    [NPY_FLOAT64] = {TENSOR_FLOAT64, BIT(TENSOR_FLOAT32)}, /* rounded, as every network expects */
    [NPY_INT8] = {TENSOR_INT8, BIT(TENSOR_INT32) | BIT(TENSOR_INT64) | BIT(TENSOR_FLOAT32) |
                                   BIT(TENSOR_FLOAT64)},
    [NPY_UINT8] = {TENSOR_UINT8, BIT(TENSOR_INT32) | BIT(TENSOR_INT64) | BIT(TENSOR_FLOAT32) |
                                     BIT(TENSOR_FLOAT64)},
    [NPY_INT16] = {TENSOR_INT32, BIT(TENSOR_INT64) | BIT(TENSOR_FLOAT32) | BIT(TENSOR_FLOAT64)},
    [NPY_UINT16] = {TENSOR_INT32, BIT(TENSOR_INT64) | BIT(TENSOR_FLOAT32) | BIT(TENSOR_FLOAT64)},
    [NPY_INT32] = {TENSOR_INT32, BIT(TENSOR_INT64) | BIT(TENSOR_FLOAT32) | BIT(TENSOR_FLOAT64)},
    [NPY_UINT32] = {TENSOR_INT64, BIT(TENSOR_FLOAT32) | BIT(TENSOR_FLOAT64)},
    [NPY_INT64] = {TENSOR_INT64, BIT(TENSOR_FLOAT32) | BIT(TENSOR_FLOAT64)},
    [NPY_BOOL] = {TENSOR_BOOL, BIT(TENSOR_UINT8) | BIT(TENSOR_INT32) | BIT(TENSOR_INT64) |
                                   BIT(TENSOR_FLOAT32) | BIT(TENSOR_FLOAT64)},
};
static_assert(sizeof kinds / sizeof *kinds == NPY_TYPE_COUNT, "one row per type");

int64_t slices_count(const struct npy_slice *slice) {
    int64_t count = 1;
    for (int i = 0; i < slice->rank; i++) {
        count *= slice->dims[i];
    }
    return count;
}

int64_t slices_width(const struct feed_input *input) {
    return input->shape.rank == 2 ? MIN(MAX(input->shape.dims[1], 1), WIDTH_MAX) : 1;
}

int slices_part(const struct npy_slice *slice, const struct feed_input *inputs, size_t count,
                struct npy_slice *ret_slices, struct error *err) {
    int64_t total = 0;
    if (count == 1 && !inputs->strings) {
        *ret_slices = *slice;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].strings || inputs[i].shape.rank < 1 || inputs[i].shape.rank > 2) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.path: the network's input %.64s takes %s, which "
                             "spec.input.npy does not have (a table has columns by name)",
                             inputs[i].name, inputs[i].strings ? "strings" : "more than columns");
        }
        total += slices_width(&inputs[i]);
    }
    if (slice->rank != 1 || slice->dims[0] != total) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.path: the network's %zu inputs have %lld columns, a "
                         "slice of spec.input.npy has %lld values",
                         count, (long long)total, (long long)slices_count(slice));
    }
    const char *at = slice->values;
    for (size_t i = 0; i < count; i++) {
        int64_t width = slices_width(&inputs[i]);
        ret_slices[i] = (struct npy_slice){
            .type = slice->type, .rank = inputs[i].shape.rank - 1, .dims = {width}, .values = at};
        at += (size_t)width * npy_value_bytes(slice->type);
    }
    return 0;
}

int slices_check(const struct npy_slice *slice, const struct feed_input *input, int64_t items,
                 struct shape *ret_shape, struct error *err) {
    struct shape shape = {.rank = slice->rank + 1, .dims = {items}};
    enum tensor_type type = input->type;
    bool fits = input->shape.rank == shape.rank;
    for (int i = 0; i < slice->rank; i++) {
        int64_t dimension = slice->dims[i], wanted = fits ? input->shape.dims[i + 1] : -1;
        shape.dims[i + 1] = dimension;
        fits = fits && (wanted < 0 || wanted == dimension);
    }
    if (!fits || (kinds[slice->type].as != type && !(kinds[slice->type].also >> type & 1))) {
        char wanted[128], given[128];
        struct shape dimensions = {.rank = slice->rank};
        memcpy(dimensions.dims, slice->dims, (size_t)slice->rank * sizeof *dimensions.dims);
        shape_format(&input->shape, wanted);
        shape_format(&dimensions, given);
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.path: the network's input is %s %s, a slice of "
                         "spec.input.npy is %s %s, without the first axis",
                         tensor_type_name(type), wanted, npy_type_name(slice->type), given);
    }
    *ret_shape = shape;
    return 0;
}

bool slices_holds(enum tensor_type type, double number) {
    return type != TENSOR_FLOAT32 || !isfinite(number) || isfinite((float)number);
}

int slices_check_values(const struct npy_slice *slice, enum tensor_type type, struct error *err) {
    int64_t count = kinds[slice->type].as == TENSOR_FLOAT64 ? slices_count(slice) : 0;
    for (int64_t i = 0; i < count; i++) {
        double value = ((const double *)slice->values)[i];
        if (!slices_holds(type, value)) {
            return error_set(err, ERROR_INVALID,
                             "value %lld of the slice is %g, which the network's %s cannot hold",
                             (long long)i, value, tensor_type_name(type));
        }
    }
    return 0;
}

#define CONVERT(from, to)                                                                          \
    for (int64_t i = 0; i < count; i++) {                                                          \
        ((to *)ret_values)[i] = (to)((const from *)slice->values)[i];                              \
    }                                                                                              \
    break
/* Converts to this type from each allowed type. */
#define CONVERT_TO(to)                                                                             \
    switch (kinds[slice->type].as) {                                                               \
    case TENSOR_FLOAT32:                                                                           \
        CONVERT(float, to);                                                                        \
    case TENSOR_FLOAT64:                                                                           \
        CONVERT(double, to);                                                                       \
    case TENSOR_INT64:                                                                             \
        CONVERT(int64_t, to);                                                                      \
    case TENSOR_INT32:                                                                             \
        CONVERT(int32_t, to);                                                                      \
    case TENSOR_INT8:                                                                              \
        CONVERT(int8_t, to);                                                                       \
    default: /* bytes, including booleans */                                                       \
        CONVERT(uint8_t, to);                                                                      \
    }                                                                                              \
    break

int slices_measure(const struct npy_slice *slice, const struct feed_input *input,
                   struct tensor *ret_values, bool *ret_is_shared, struct error *err) {
    *ret_is_shared = false;
    ret_values->type = input->type;
    return slices_check(slice, input, 1, &ret_values->shape, err);
}

void slices_fill(const struct npy_slice *slice, enum tensor_type type, void *ret_values) {
    int64_t count = slices_count(slice);
    if (kinds[slice->type].as == type) {
        memcpy(ret_values, slice->values, (size_t)count * tensor_type_size(type));
        return;
    }
    switch (type) {
    case TENSOR_FLOAT32:
        CONVERT_TO(float);
    case TENSOR_FLOAT64:
        CONVERT_TO(double);
    case TENSOR_INT64:
        CONVERT_TO(int64_t);
    case TENSOR_INT32:
        CONVERT_TO(int32_t);
    default:
        CONVERT_TO(uint8_t);
    }
}
