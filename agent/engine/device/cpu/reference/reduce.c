// SPDX-License-Identifier: Apache-2.0
/* Sums and other reductions, ArgMax and ArgMin, Softmax. */
#include "agent/engine/ops/infer/reduce.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <string.h>

struct reduction {
    int op;
    const void *x;
    void *y;            /* double for floats, uint64 for integers; the output's shape */
    const double *most; /* ReduceLogSumExp: the greatest element of each sum, so that exponentials
                           do not overflow */
    enum tensor_type type;
};

/* Reduces a row of x into y, whose step is 0 along reduced dimensions. */
static void reduce_real(void *context, const int64_t *offsets, const int64_t *steps,
                        int64_t count) {
    const struct reduction *reduction = context;
    bool is_double = reduction->type == TENSOR_FLOAT64;
    double *y = (double *)reduction->y + offsets[1];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = offsets[0] + i * steps[0];
        double value = is_double ? ((const double *)reduction->x)[at]
                                 : (double)((const float *)reduction->x)[at];
        double *to = &y[i * steps[1]];
        switch (reduction->op) {
        case OP_REDUCE_MAX:
            *to = value > *to || isnan(value) ? value : *to;
            break;
        case OP_REDUCE_MIN:
            *to = value < *to || isnan(value) ? value : *to;
            break;
        case OP_REDUCE_L1:
            *to += fabs(value);
            break;
        case OP_REDUCE_L2:
        case OP_REDUCE_SUM_SQUARE:
            *to += value * value;
            break;
        case OP_REDUCE_PROD:
            *to *= value;
            break;
        case OP_REDUCE_LOG_SUM_EXP:
            *to += exp(value - reduction->most[offsets[1] + i * steps[1]]);
            break;
        default:
            *to += value;
        }
    }
}

/* Wraps around, as the result's type does. */
static void reduce_integer(void *context, const int64_t *offsets, const int64_t *steps,
                           int64_t count) {
    const struct reduction *reduction = context;
    uint64_t *y = (uint64_t *)reduction->y + offsets[1];
    for (int64_t i = 0; i < count; i++) {
        int64_t at = offsets[0] + i * steps[0];
        uint64_t *to = &y[i * steps[1]];
        int64_t value = reduction->type == TENSOR_INT64 ? ((const int64_t *)reduction->x)[at]
                                                        : ((const int32_t *)reduction->x)[at];
        switch (reduction->op) {
        case OP_REDUCE_MAX:
            *to = (uint64_t)MAX((int64_t)*to, value);
            break;
        case OP_REDUCE_MIN:
            *to = (uint64_t)MIN((int64_t)*to, value);
            break;
        case OP_REDUCE_L1:
            *to += value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
            break;
        case OP_REDUCE_SUM_SQUARE:
            *to += (uint64_t)value * (uint64_t)value;
            break;
        case OP_REDUCE_PROD:
            *to *= (uint64_t)value;
            break;
        default:
            *to += (uint64_t)value;
        }
    }
}

/* Strides of the output along the input's dimensions. */
static void reduced_strides(const struct shape *x, const struct reduce *reduce,
                            int64_t ret_strides[TENSOR_RANK_MAX]) {
    int64_t stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        ret_strides[i] = reduce->is_reduced[i] ? 0 : stride;
        stride *= reduce->is_reduced[i] ? 1 : x->dims[i];
    }
}

static double start_of(int op) {
    return op == OP_REDUCE_MAX    ? -INFINITY
           : op == OP_REDUCE_MIN  ? INFINITY
           : op == OP_REDUCE_PROD ? 1
                                  : 0;
}

static void fold_reals(struct reduction *reduction, const struct walk *walk, double *sums,
                       int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        sums[i] = start_of(reduction->op);
    }
    reduction->y = sums;
    walk_each(walk, reduce_real, reduction);
}

/* The sum is relative to the greatest element; if that is infinite, no sum is needed. */
static int fold_log_sum_exp(struct reduction *reduction, const struct walk *walk,
                            const struct shape *shape, double *sums, struct error *err) {
    struct tensor greatest;
    if (tensor_init(&greatest, TENSOR_FLOAT64, shape, err) < 0) {
        return -1;
    }
    int64_t count = shape_count(shape);
    double *most = greatest.data;
    reduction->op = OP_REDUCE_MAX;
    fold_reals(reduction, walk, most, count);
    reduction->op = OP_REDUCE_LOG_SUM_EXP;
    reduction->most = most;
    fold_reals(reduction, walk, sums, count);
    for (int64_t i = 0; i < count; i++) {
        sums[i] = isfinite(most[i]) ? most[i] + log(sums[i]) : most[i];
    }
    tensor_release(&greatest);
    return 0;
}

static int reduce_reals(struct reduction *reduction, const struct walk *walk, struct tensor *y,
                        double *sums, struct error *err) {
    int64_t count = shape_count(&y->shape), all = shape_count(&walk->shape);
    double each = (double)all / (double)MAX(count, 1);
    int op = reduction->op;
    if (op != OP_REDUCE_LOG_SUM_EXP) {
        fold_reals(reduction, walk, sums, count);
    } else if (fold_log_sum_exp(reduction, walk, &y->shape, sums, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < count; i++) {
        double value = sums[i];
        value = op == OP_REDUCE_MEAN      ? value / each
                : op == OP_REDUCE_L2      ? sqrt(value)
                : op == OP_REDUCE_LOG_SUM ? log(value)
                                          : value;
        tensor_put_number(y, i, value);
    }
    return 0;
}

static void reduce_integers(struct reduction *reduction, const struct walk *walk, struct tensor *y,
                            uint64_t *sums) {
    int64_t count = shape_count(&y->shape);
    for (int64_t i = 0; i < count; i++) {
        sums[i] = reduction->op == OP_REDUCE_MAX    ? (uint64_t)INT64_MIN
                  : reduction->op == OP_REDUCE_MIN  ? (uint64_t)INT64_MAX
                  : reduction->op == OP_REDUCE_PROD ? 1
                                                    : 0;
    }
    reduction->y = sums;
    walk_each(walk, reduce_integer, reduction);
    for (int64_t i = 0; i < count; i++) {
        if (y->type == TENSOR_INT64) {
            ((uint64_t *)y->data)[i] = sums[i];
        } else {
            ((uint32_t *)y->data)[i] = (uint32_t)sums[i];
        }
    }
}

static int reduce_run(const struct call *call, struct error *err) {
    struct cpu_call_facts facts = {0};
    const struct tensor *x = call->inputs[0];
    struct tensor sums, *y = call->outputs[0];
    struct reduce reduce;
    if (reduce_params(call->node, cpu_call_collect_facts(call, &facts), &reduce, err) < 0 ||
        tensor_init(&sums, TENSOR_INT64, &y->shape, err) < 0) {
        return -1;
    }
    struct walk walk = {.shape = x->shape, .operand_count = 2};
    struct reduction reduction = {.op = call->node->op->id, .x = x->data, .type = x->type};
    walk_plain_strides(&x->shape, walk.strides[0]);
    reduced_strides(&x->shape, &reduce, walk.strides[1]);
    int result = 0;
    if (tensor_type_is_real(x->type)) {
        /* Elements have the size of int64. */
        result = reduce_reals(&reduction, &walk, y, sums.data, err);
    } else {
        reduce_integers(&reduction, &walk, y, sums.data);
    }
    tensor_release(&sums);
    return result;
}
const struct kernel reference_reduce = {"reference reduce", reduce_run};

/* Whether element a is preferred to b: greater (wanted 1) or less (-1). NaN is preferred in both
 * cases, as in numpy. */
static bool stands_before(const struct tensor *x, int64_t a, int64_t b, int wanted) {
    int order = tensor_compare(x, a, b);
    return order == 2 ? isnan(tensor_number(x, a)) && !isnan(tensor_number(x, b)) : order == wanted;
}

static int arg_max_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    const struct shape *shape = &x->shape;
    int64_t *y = call->outputs[0]->data;
    bool takes_last = node_integer(call->node, "select_last_index", 0);
    int wanted = call->node->op->id == OP_ARG_MAX ? 1 : -1;
    struct around around = param_around_axis(shape, node_integer(call->node, "axis", 0));
    int64_t inner = around.inner;
    for (int64_t i = 0; i < around.outer * inner; i++) {
        int64_t start = i / inner * around.size * inner + i % inner, best = 0;
        for (int64_t k = 1; k < around.size; k++) {
            bool is_best = stands_before(x, start + k * inner, start + best * inner, wanted);
            bool is_equal =
                takes_last && !stands_before(x, start + best * inner, start + k * inner, wanted);
            best = is_best || is_equal ? k : best;
        }
        y[i] = best;
    }
    return 0;
}
const struct kernel reference_arg_max = {"reference arg_max", arg_max_run};

static int softmax_run(const struct call *call, struct error *err) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    bool is_log = call->node->op->id == OP_LOG_SOFTMAX;
    struct softmax softmax;
    if (softmax_params(call->node, &call->inputs[0]->shape, &softmax, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < softmax.outer * softmax.inner; i++) {
        int64_t start = reduce_softmax_start(&softmax, i);
        float most = -INFINITY;
        double sum = 0;
        for (int64_t k = 0; k < softmax.axis; k++) {
            most = fmaxf(most, x[start + k * softmax.inner]);
        }
        for (int64_t k = 0; k < softmax.axis; k++) {
            sum += exp((double)(x[start + k * softmax.inner] - most));
        }
        for (int64_t k = 0; k < softmax.axis; k++) {
            double shifted = (double)(x[start + k * softmax.inner] - most);
            y[start + k * softmax.inner] =
                (float)(is_log ? shifted - log(sum) : exp(shifted) / sum);
        }
    }
    return 0;
}
const struct kernel reference_softmax = {"reference softmax", softmax_run};
