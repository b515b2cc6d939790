// SPDX-License-Identifier: Apache-2.0
/* CumSum, TopK, Hardmax, Trilu and EyeLike. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/infer/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CumSum ---------------------------------------------------------------------------------- */

#define CUM_SUM(name, type, wide)                                                                  \
    static void name(const struct around *around, const type *x, type *y, bool is_exclusive,       \
                     bool is_reverse) {                                                            \
        for (int64_t i = 0; i < around->outer * around->inner; i++) {                              \
            int64_t start = i / around->inner * around->size * around->inner + i % around->inner;  \
            wide sum = 0;                                                                          \
            for (int64_t k = 0; k < around->size; k++) {                                           \
                int64_t at = start + (is_reverse ? around->size - 1 - k : k) * around->inner;      \
                wide next = sum + (wide)x[at];                                                     \
                y[at] = (type)(is_exclusive ? sum : next);                                         \
                sum = next;                                                                        \
            }                                                                                      \
        }                                                                                          \
    }
CUM_SUM(cum_sum_float, float, double)
CUM_SUM(cum_sum_double, double, double)
CUM_SUM(cum_sum_int64, int64_t, uint64_t)
CUM_SUM(cum_sum_int32, int32_t, uint32_t)

static int cum_sum_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct tensor *y = call->outputs[0];
    int64_t axis = (int64_t)tensor_whole(call->inputs[1], 0), rank = x->shape.rank;
    bool is_exclusive = node_integer(call->node, "exclusive", 0);
    bool is_reverse = node_integer(call->node, "reverse", 0);
    if (axis < -rank || axis >= rank) {
        return error_set(err, ERROR_INVALID,
                         "CumSum node \"%.64s\": axis %lld, expected %lld to %lld",
                         call->node->name, (long long)axis, (long long)-rank, (long long)rank - 1);
    }
    struct around around = param_around_axis(&x->shape, (int)(axis < 0 ? axis + rank : axis));
    switch (x->type) {
    case TENSOR_INT64:
        cum_sum_int64(&around, x->data, y->data, is_exclusive, is_reverse);
        break;
    case TENSOR_INT32:
        cum_sum_int32(&around, x->data, y->data, is_exclusive, is_reverse);
        break;
    case TENSOR_FLOAT64:
        cum_sum_double(&around, x->data, y->data, is_exclusive, is_reverse);
        break;
    default:
        cum_sum_float(&around, x->data, y->data, is_exclusive, is_reverse);
    }
    return 0;
}
const struct kernel reference_cum_sum = {"reference cum_sum", cum_sum_run};

/* ---- triangles ------------------------------------------------------------------------------- */

static int trilu_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    bool is_upper = node_integer(call->node, "upper", 1);
    bool has_k = call->input_count > 1 && call->inputs[1];
    double k = has_k ? tensor_number(call->inputs[1], 0) : 0;
    int rank = x->shape.rank;
    int64_t rows = x->shape.dims[rank - 2], columns = x->shape.dims[rank - 1];
    int64_t count = shape_count(&x->shape);
    size_t size = tensor_type_size(x->type);
    for (int64_t n = 0; n < count; n++) {
        double above = (double)(n % columns) - (double)(n / columns % rows);
        char *to = (char *)call->outputs[0]->data + (size_t)n * size;
        if (is_upper ? above >= k : above <= k) {
            memcpy(to, (const char *)x->data + (size_t)n * size, size);
        } else {
            memset(to, 0, size);
        }
    }
    return 0;
}
const struct kernel reference_trilu = {"reference trilu", trilu_run};

static int eye_like_run(const struct call *call, struct error *err UNUSED) {
    struct tensor *y = call->outputs[0];
    int64_t k = node_integer(call->node, "k", 0), columns = y->shape.dims[1];
    memset(y->data, 0, (size_t)shape_count(&y->shape) * tensor_type_size(y->type));
    for (int64_t row = 0; row < y->shape.dims[0]; row++) {
        int64_t column;
        if (!__builtin_add_overflow(row, k, &column) && column >= 0 && column < columns) {
            tensor_put_number(y, row * columns + column, 1);
        }
    }
    return 0;
}
const struct kernel reference_eye_like = {"reference eye_like", eye_like_run};

/* ---- the greatest ---------------------------------------------------------------------------- */

struct ranking {
    const struct tensor *x;
    bool is_largest;
};

/* The order is greatest (least) first; equal elements keep their order. NaN is greater than all. */
static int by_rank(const void *a, const void *b, void *context) {
    const struct ranking *ranking = context;
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    int order = tensor_compare(ranking->x, left, right);
    if (order == 2) {
        order = isnan(tensor_number(ranking->x, left)) - isnan(tensor_number(ranking->x, right));
    }
    order = ranking->is_largest ? -order : order;
    return order ? order : (left > right) - (left < right);
}

static void pick_ranked(const struct call *call, const int64_t *ranked, int64_t k, int64_t to,
                        const struct around *around, int64_t start) {
    const struct tensor *x = call->inputs[0];
    size_t size = tensor_type_size(x->type);
    for (int64_t n = 0; n < k; n++, to += around->inner) {
        if (call->outputs[0]) {
            memcpy((char *)call->outputs[0]->data + (size_t)to * size,
                   (const char *)x->data + (size_t)ranked[n] * size, size);
        }
        if (call->output_count > 1 && call->outputs[1]) {
            ((int64_t *)call->outputs[1]->data)[to] = (ranked[n] - start) / around->inner;
        }
    }
}

static int top_k_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct ranking ranking = {x, node_integer(call->node, "largest", 1)};
    int64_t axis = node_integer(call->node, "axis", -1);
    axis = axis < 0 ? axis + x->shape.rank : axis;
    struct around around = param_around_axis(&x->shape, (int)axis);
    int64_t k = call->outputs[call->outputs[0] ? 0 : 1]->shape.dims[axis];
    struct tensor scratch;
    if (tensor_init(&scratch, TENSOR_INT64, &(struct shape){1, {around.size}}, err) < 0) {
        return -1;
    }
    int64_t *ranked = scratch.data;
    for (int64_t i = 0; i < around.outer * around.inner; i++) {
        int64_t outer = i / around.inner, inner = i % around.inner;
        int64_t start = outer * around.size * around.inner + inner;
        for (int64_t n = 0; n < around.size; n++) {
            ranked[n] = start + n * around.inner;
        }
        qsort_r(ranked, (size_t)around.size, sizeof *ranked, by_rank, &ranking);
        pick_ranked(call, ranked, k, outer * k * around.inner + inner, &around, start);
    }
    tensor_release(&scratch);
    return 0;
}
const struct kernel reference_top_k = {"reference top_k", top_k_run};

/* 1 for the first of the greatest elements, 0 for all others. */
static int hardmax_run(const struct call *call, struct error *err) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    struct softmax softmax;
    if (softmax_params(call->node, &call->inputs[0]->shape, &softmax, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < softmax.outer * softmax.inner; i++) {
        int64_t start = reduce_softmax_start(&softmax, i);
        int64_t best = 0;
        for (int64_t k = 1; k < softmax.axis; k++) {
            best = x[start + k * softmax.inner] > x[start + best * softmax.inner] ? k : best;
        }
        for (int64_t k = 0; k < softmax.axis; k++) {
            y[start + k * softmax.inner] = k == best;
        }
    }
    return 0;
}
const struct kernel reference_hardmax = {"reference hardmax", hardmax_run};
