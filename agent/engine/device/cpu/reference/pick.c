// SPDX-License-Identifier: Apache-2.0
/* Operators with indices in another input. Elements of any type are copied as bytes; sums and
 * products of scattered elements depend on the type. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <string.h>

/* The index, counted from the front; -1 with an error if it is out of range. */
static int64_t place_of(const struct tensor *indices, int64_t at, int64_t size, struct error *err) {
    int64_t index = (int64_t)tensor_whole(indices, at);
    if (index < -size || index >= size) {
        error_set(err, ERROR_INVALID, "index %lld is out of range for %lld elements",
                  (long long)index, (long long)size);
        return -1;
    }
    return index < 0 ? index + size : index;
}

static int axis_of(const struct node *node, int rank, int64_t fallback) {
    int64_t axis = node_integer(node, "axis", fallback);
    return (int)(axis < 0 ? axis + rank : axis);
}

/* Combines a scattered element with the element at its place. */
typedef void combine_function(void *to, const void *from, int64_t count);

#define COMBINE(name, type, operator)                                                              \
    static void name(void *to, const void *from, int64_t count) {                                  \
        for (int64_t i = 0; i < count; i++) {                                                      \
            ((type *)to)[i] = ((type *)to)[i] operator((const type *)from)[i];                     \
        }                                                                                          \
    }
COMBINE(add_float, float, +)
COMBINE(mul_float, float, *)
COMBINE(add_int64, uint64_t, +)
COMBINE(mul_int64, uint64_t, *)
COMBINE(add_int32, uint32_t, +)
COMBINE(mul_int32, uint32_t, *)

/* NaN stays NaN, as in numpy's maximum. */
#define CHOOSE(name, type, is_it)                                                                  \
    static void name(void *to, const void *from, int64_t count) {                                  \
        for (int64_t i = 0; i < count; i++) {                                                      \
            type u = ((type *)to)[i], v = ((const type *)from)[i];                                 \
            ((type *)to)[i] = is_it ? v : u;                                                       \
        }                                                                                          \
    }
CHOOSE(max_float, float, (v > u || isnan(v)))
CHOOSE(min_float, float, (v < u || isnan(v)))
CHOOSE(max_int64, int64_t, v > u)
CHOOSE(min_int64, int64_t, v < u)
CHOOSE(max_int32, int32_t, v > u)
CHOOSE(min_int32, int32_t, v < u)

/* NULL: it replaces the element. */
static combine_function *combine_of(const struct call *call) {
    static const struct {
        const char *reduction;
        combine_function *of_float, *of_int64, *of_int32;
    } all[] = {{"add", add_float, add_int64, add_int32},
               {"mul", mul_float, mul_int64, mul_int32},
               {"max", max_float, max_int64, max_int32},
               {"min", min_float, min_int64, min_int32}};
    const char *reduction = node_text(call->node, "reduction", "none");
    enum tensor_type type = call->inputs[0]->type; /* the shape rule allows only these three */
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(all[i].reduction, reduction) == 0) {
            return type == TENSOR_FLOAT32 ? all[i].of_float
                   : type == TENSOR_INT64 ? all[i].of_int64
                                          : all[i].of_int32;
        }
    }
    return NULL;
}

/* ---- one element at a place along the axis --------------------------------------------------- */

static int gather_elements_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    int axis = axis_of(call->node, x->shape.rank, 0);
    int64_t strides[TENSOR_RANK_MAX], at[TENSOR_RANK_MAX] = {0};
    int64_t count = shape_count(&indices->shape);
    size_t size = tensor_type_size(x->type);
    char *to = call->outputs[0]->data;
    walk_plain_strides(&x->shape, strides);
    for (int64_t n = 0; n < count; n++, to += size) {
        int64_t place = place_of(indices, n, x->shape.dims[axis], err), from = 0;
        if (place < 0) {
            return -1;
        }
        for (int i = 0; i < x->shape.rank; i++) {
            from += (i == axis ? place : at[i]) * strides[i];
        }
        memcpy(to, (const char *)x->data + (size_t)from * size, size);
        walk_next(&indices->shape, at);
    }
    return 0;
}
const struct kernel reference_gather_elements = {"reference gather_elements", gather_elements_run};

static int scatter_elements_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *indices = call->inputs[1];
    int axis = axis_of(call->node, x->shape.rank, 0);
    int64_t strides[TENSOR_RANK_MAX], at[TENSOR_RANK_MAX] = {0};
    int64_t count = shape_count(&indices->shape);
    size_t size = tensor_type_size(x->type);
    const char *from = call->inputs[2]->data;
    char *y = call->outputs[0]->data;
    combine_function *combine = combine_of(call);
    memcpy(y, x->data, (size_t)shape_count(&x->shape) * size);
    walk_plain_strides(&x->shape, strides);
    for (int64_t n = 0; n < count; n++, from += size) {
        int64_t place = place_of(indices, n, x->shape.dims[axis], err), to = 0;
        if (place < 0) {
            return -1;
        }
        for (int i = 0; i < x->shape.rank; i++) {
            to += (i == axis ? place : at[i]) * strides[i];
        }
        if (combine) {
            combine(y + (size_t)to * size, from, 1);
        } else {
            memcpy(y + (size_t)to * size, from, size);
        }
        walk_next(&indices->shape, at);
    }
    return 0;
}
const struct kernel reference_scatter_elements = {"reference scatter_elements",
                                                  scatter_elements_run};

/* ---- slices at places of several dimensions -------------------------------------------------- */

struct tuples {
    int batch_dims, tuple;
    int64_t count;      /* of places */
    int64_t per_batch;  /* places of one element of the batch dimensions */
    int64_t slice;      /* elements of the slice at a place */
    int64_t batch_size; /* elements of one of those */
    int64_t strides[TENSOR_RANK_MAX];
};

static void read_tuples(const struct call *call, int batch_dims, struct tuples *ret_tuples) {
    const struct shape *x = &call->inputs[0]->shape, *indices = &call->inputs[1]->shape;
    struct tuples tuples = {.batch_dims = batch_dims,
                            .tuple = (int)indices->dims[indices->rank - 1],
                            .count = 1,
                            .per_batch = 1,
                            .slice = 1,
                            .batch_size = 1};
    for (int i = 0; i < indices->rank - 1; i++) {
        tuples.count *= indices->dims[i];
        tuples.per_batch *= i < batch_dims ? 1 : indices->dims[i];
    }
    for (int i = batch_dims; i < x->rank; i++) {
        tuples.batch_size *= x->dims[i];
        tuples.slice *= i < batch_dims + tuples.tuple ? 1 : x->dims[i];
    }
    walk_plain_strides(x, tuples.strides);
    *ret_tuples = tuples;
}

/* The offset in x, in elements, of the slice at place n; -1 with an error. */
static int64_t slice_at(const struct call *call, const struct tuples *tuples, int64_t n,
                        struct error *err) {
    const struct shape *x = &call->inputs[0]->shape;
    int64_t at = n / MAX(tuples->per_batch, 1) * tuples->batch_size;
    for (int i = 0; i < tuples->tuple; i++) {
        int axis = tuples->batch_dims + i;
        int64_t place = place_of(call->inputs[1], n * tuples->tuple + i, x->dims[axis], err);
        if (place < 0) {
            return -1;
        }
        at += place * tuples->strides[axis];
    }
    return at;
}

static int gather_nd_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct tuples tuples;
    read_tuples(call, (int)node_integer(call->node, "batch_dims", 0), &tuples);
    size_t size = tensor_type_size(x->type), slice = (size_t)tuples.slice * size;
    char *to = call->outputs[0]->data;
    for (int64_t n = 0; n < tuples.count; n++, to += slice) {
        int64_t at = slice_at(call, &tuples, n, err);
        if (at < 0) {
            return -1;
        }
        memcpy(to, (const char *)x->data + (size_t)at * size, slice);
    }
    return 0;
}
const struct kernel reference_gather_nd = {"reference gather_nd", gather_nd_run};

static int scatter_nd_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct tuples tuples;
    combine_function *combine = combine_of(call);
    read_tuples(call, 0, &tuples);
    size_t size = tensor_type_size(x->type), slice = (size_t)tuples.slice * size;
    const char *from = call->inputs[2]->data;
    char *y = call->outputs[0]->data;
    memcpy(y, x->data, (size_t)shape_count(&x->shape) * size);
    for (int64_t n = 0; n < tuples.count; n++, from += slice) {
        int64_t at = slice_at(call, &tuples, n, err);
        if (at < 0) {
            return -1;
        }
        if (combine) {
            combine(y + (size_t)at * size, from, tuples.slice);
        } else if (slice) {
            memcpy(y + (size_t)at * size, from, slice);
        }
    }
    return 0;
}
const struct kernel reference_scatter_nd = {"reference scatter_nd", scatter_nd_run};

/* ---- others ---------------------------------------------------------------------------------- */

/* An index out of range has only off values; floats are truncated. */
/* Other indices than ids of samples (PARAM_ARE_IDS) may be beyond the depth: their rows are off. */
static int check_ids(const struct call *call, const struct tensor *ids, int64_t depth,
                     struct error *err) {
    int64_t count = node_integer(call->node, PARAM_ARE_IDS, 0) ? shape_count(&ids->shape) : 0;
    for (int64_t i = 0; i < count; i++) {
        double id = trunc(tensor_number(ids, i));
        if (!(id >= 0 && id < (double)depth)) {
            return error_set(err, ERROR_INVALID, "index %.0f is out of range for %lld elements", id,
                             (long long)depth);
        }
    }
    return 0;
}

static int one_hot_run(const struct call *call, struct error *err) {
    const struct tensor *indices = call->inputs[0], *values = call->inputs[2];
    struct tensor *y = call->outputs[0];
    struct around around = param_around_axis(&y->shape, axis_of(call->node, y->shape.rank, -1));
    int64_t depth = around.size, inner = around.inner, count = shape_count(&y->shape);
    size_t size = tensor_type_size(y->type);
    if (check_ids(call, indices, depth, err) < 0) {
        return -1;
    }
    for (int64_t n = 0; n < count; n++) {
        int64_t outer = n / (depth * inner), at = n / inner % depth;
        double index = trunc(tensor_number(indices, outer * inner + n % inner));
        bool is_on = index == (double)at || index + (double)depth == (double)at;
        memcpy((char *)y->data + (size_t)n * size, (const char *)values->data + (is_on ? size : 0),
               size);
    }
    return 0;
}
const struct kernel reference_one_hot = {"reference one_hot", one_hot_run};

static int reverse_sequence_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *lengths = call->inputs[1];
    bool is_batch_first = node_integer(call->node, "batch_axis", 1) == 0;
    int64_t batches = x->shape.dims[is_batch_first ? 0 : 1];
    int64_t times = x->shape.dims[is_batch_first ? 1 : 0];
    int64_t count = shape_count(&x->shape);
    int64_t inner = batches && times ? count / batches / times : 0;
    size_t size = (size_t)inner * tensor_type_size(x->type);
    for (int64_t b = 0; b < batches; b++) {
        int64_t length = (int64_t)tensor_whole(lengths, b);
        if (length < 0 || length > times) {
            return error_set(err, ERROR_INVALID,
                             "ReverseSequence node \"%.64s\": length %lld, expected 0 to %lld",
                             call->node->name, (long long)length, (long long)times);
        }
        for (int64_t t = 0; t < times; t++) {
            int64_t source = t < length ? length - 1 - t : t;
            int64_t to = is_batch_first ? b * times + t : t * batches + b;
            int64_t from = is_batch_first ? b * times + source : source * batches + b;
            memcpy((char *)call->outputs[0]->data + (size_t)to * size,
                   (const char *)x->data + (size_t)from * size, size);
        }
    }
    return 0;
}
const struct kernel reference_reverse_sequence = {"reference reverse_sequence",
                                                  reverse_sequence_run};
