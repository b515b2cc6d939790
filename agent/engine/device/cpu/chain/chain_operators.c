// SPDX-License-Identifier: Apache-2.0
// Operators as instructions. The row of an operator in the table below names its instruction, or a
// function that appends several.
#include <math.h>
#include <string.h>

#include "agent/engine/device/cpu/chain/chain_lower.h"
#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/table.h"

/* ---- elementwise -------------------------------------------------------------------------------
 */

static float number_attribute(const struct lower *l, bool second) {
    float a, b;
    elementwise_unary_numbers(l->step->node, l->step->node->op->id, &a, &b);
    return second ? b : a;
}

// From bool, whose elements are 1 or 0 here, or to it.
static int lower_cast(struct lower *l) {
    int x = lower_value(l, 0);
    const struct schedule_slot *slots = l->schedule->slots;
    bool from_bool = slots[l->step->inputs[0]].type == TENSOR_BOOL;
    if (from_bool || slots[l->step->outputs[0]].type != TENSOR_BOOL) {
        return lower_one(l, CHAIN_MOVE, x);
    }
    return lower_affine(l, lower_with_number(l, CHAIN_EQUAL, x, 0), -1, 1);
}

static int lower_relu(struct lower *l) {
    return lower_clip_to(l, lower_value(l, 0), 0, INFINITY);
}

static int lower_neg(struct lower *l) {
    return lower_with_number(l, CHAIN_MUL, lower_value(l, 0), -1); // -0 of 0
}

static int lower_not(struct lower *l) {
    return lower_affine(l, lower_value(l, 0), -1, 1);
}

static int lower_clip(struct lower *l) {
    float bounds[2];
    chain_clip_bounds(l, 1, bounds);
    return lower_clip_to(l, lower_value(l, 0), bounds[0], bounds[1]);
}

static int lower_leaky_relu(struct lower *l) {
    return lower_with_number(l, CHAIN_PRELU, lower_value(l, 0), number_attribute(l, false));
}

// x < 0 ? a (e^(x / b) - 1) : c x
static int exponential_below(struct lower *l, float a, float b, float c) {
    int x = lower_value(l, 0);
    int below =
        lower_affine(l, lower_one(l, CHAIN_EXPM1, b == 1 ? x : lower_affine(l, x, 1 / b, 0)), a, 0);
    return lower_pick(l, lower_with_number(l, CHAIN_LESS, x, 0), below,
                      c == 1 ? x : lower_affine(l, x, c, 0));
}

static int lower_elu(struct lower *l) {
    return exponential_below(l, number_attribute(l, false), 1, 1);
}

static int lower_celu(struct lower *l) {
    return exponential_below(l, number_attribute(l, false), number_attribute(l, false), 1);
}

static int lower_selu(struct lower *l) {
    float alpha = number_attribute(l, false), gamma = number_attribute(l, true);
    return exponential_below(l, alpha * gamma, 1, gamma);
}

static int lower_hard_sigmoid(struct lower *l) {
    return lower_clip_to(
        l,
        lower_affine(l, lower_value(l, 0), number_attribute(l, false), number_attribute(l, true)),
        0, 1);
}

static int lower_hard_swish(struct lower *l) {
    int x = lower_value(l, 0);
    return lower_two(l, CHAIN_MUL, x, lower_clip_to(l, lower_affine(l, x, 1.0F / 6, 0.5F), 0, 1));
}

// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|)
static int lower_softplus(struct lower *l) {
    int x = lower_value(l, 0);
    int e = lower_one(l, CHAIN_EXP, lower_affine(l, lower_one(l, CHAIN_ABS, x), -1, 0));
    return lower_two(l, CHAIN_ADD, lower_clip_to(l, x, 0, INFINITY), lower_one(l, CHAIN_LOG1P, e));
}

static int lower_softsign(struct lower *l) {
    int x = lower_value(l, 0);
    return lower_two(l, CHAIN_DIV, x, lower_affine(l, lower_one(l, CHAIN_ABS, x), 1, 1));
}

// x tanh(ln(1 + e)) with e = e^x is x n / (n + 2) with n = e (e + 2); from 20 on it is x.
static int lower_mish(struct lower *l) {
    int x = lower_value(l, 0), e = lower_one(l, CHAIN_EXP, lower_clip_to(l, x, -INFINITY, 20));
    int n = lower_two(l, CHAIN_MUL, e, lower_affine(l, e, 1, 2));
    return lower_two(l, CHAIN_MUL, x, lower_two(l, CHAIN_DIV, n, lower_affine(l, n, 1, 2)));
}

static int lower_gelu(struct lower *l) {
    int x = lower_value(l, 0), factor;
    if (strcmp(node_text(l->step->node, "approximate", "none"), "tanh") == 0) {
        int cube = lower_two(l, CHAIN_MUL, lower_two(l, CHAIN_MUL, x, x), x);
        int sum = lower_two(l, CHAIN_ADD, x, lower_affine(l, cube, 0.044715F, 0));
        factor = lower_one(l, CHAIN_TANH, lower_affine(l, sum, (float)(M_2_SQRTPI * M_SQRT1_2), 0));
    } else {
        factor = lower_one(l, CHAIN_ERF, lower_affine(l, x, (float)M_SQRT1_2, 0));
    }
    return lower_two(l, CHAIN_MUL, x, lower_affine(l, factor, 0.5F, 0.5F));
}

// Copies what is repeated. One number per row would stay one, so a new chain begins with it.
static int lower_expand(struct lower *l) {
    int x = lower_value(l, 0);
    l->failed |= l->chain->reduced && lower_is_narrow(l, x);
    return lower_one(l, CHAIN_MOVE, x);
}

static int lower_thresholded_relu(struct lower *l) {
    int x = lower_value(l, 0);
    int small = lower_with_number(l, CHAIN_LESS_EQUAL, x, number_attribute(l, false));
    return lower_pick(l, small, lower_number(l, 0), x);
}

// The parts of an operator with any number of operands.
static int merge_all(struct lower *l, enum chain_op op) {
    int so_far = lower_value(l, 0);
    for (int i = 1; i < l->step->input_count && !l->failed; i++) {
        so_far = lower_two(l, op, so_far, lower_value(l, i));
    }
    return l->step->input_count > 1 ? so_far : lower_one(l, CHAIN_MOVE, so_far);
}

static int lower_sum(struct lower *l) {
    return merge_all(l, CHAIN_ADD);
}
static int lower_max(struct lower *l) {
    return merge_all(l, CHAIN_MAX);
}
static int lower_min(struct lower *l) {
    return merge_all(l, CHAIN_MIN);
}
static int lower_mean(struct lower *l) {
    return lower_with_number(l, CHAIN_DIV, merge_all(l, CHAIN_ADD), (float)l->step->input_count);
}

static int lower_greater(struct lower *l) {
    return lower_two(l, CHAIN_LESS, lower_value(l, 1), lower_value(l, 0));
}
static int lower_greater_or_equal(struct lower *l) {
    return lower_two(l, CHAIN_LESS_EQUAL, lower_value(l, 1), lower_value(l, 0));
}

static int lower_where(struct lower *l) {
    return lower_pick(l, lower_value(l, 0), lower_value(l, 1), lower_value(l, 2));
}

// Exponents that networks have are products and roots.
static int lower_pow(struct lower *l) {
    int x = lower_value(l, 0), exponent = lower_value(l, 1);
    const struct chain_value *known = &l->chain->values[exponent];
    if (l->failed || known->kind != CHAIN_NUMBER) {
        return lower_two(l, CHAIN_POW, x, exponent);
    }
    float number = known->number;
    if (number == 2) {
        return lower_two(l, CHAIN_MUL, x, x);
    }
    if (number == 3) {
        return lower_two(l, CHAIN_MUL, lower_two(l, CHAIN_MUL, x, x), x);
    }
    if (number == 0.5F || number == -0.5F) {
        // (pow(-infinity, 0.5) is infinity and not NaN: such values do not come from sums of
        // squares.)
        int root = lower_one(l, CHAIN_SQRT, x);
        return number > 0 ? root : lower_one(l, CHAIN_RECIPROCAL, root);
    }
    if (number == -1) {
        return lower_one(l, CHAIN_RECIPROCAL, x);
    }
    return number == 1 ? lower_one(l, CHAIN_MOVE, x) : lower_two(l, CHAIN_POW, x, exponent);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct lower_row rows[] = {
    {OP_ABS, FORM_ONE, CHAIN_ABS, NULL, NULL},
    {OP_ACOS, FORM_FUNCTION, CHAIN_FUNCTION, acosf, NULL},
    {OP_ACOSH, FORM_FUNCTION, CHAIN_FUNCTION, acoshf, NULL},
    {OP_ADD, FORM_TWO, CHAIN_ADD, NULL, NULL},
    {OP_AND, FORM_TWO, CHAIN_MUL, NULL, NULL},
    {OP_ASIN, FORM_FUNCTION, CHAIN_FUNCTION, asinf, NULL},
    {OP_ASINH, FORM_FUNCTION, CHAIN_FUNCTION, asinhf, NULL},
    {OP_ATAN, FORM_FUNCTION, CHAIN_FUNCTION, atanf, NULL},
    {OP_ATANH, FORM_FUNCTION, CHAIN_FUNCTION, atanhf, NULL},
    {OP_BATCH_NORMALIZATION, FORM_CHANNELS, 0, NULL, lower_batch_norm},
    {OP_CAST, FORM_OWN, 0, NULL, lower_cast},
    {OP_CEIL, FORM_ONE, CHAIN_CEIL, NULL, NULL},
    {OP_CELU, FORM_OWN, 0, NULL, lower_celu},
    {OP_CLIP, FORM_OWN, 0, NULL, lower_clip},
    {OP_COS, FORM_FUNCTION, CHAIN_FUNCTION, cosf, NULL},
    {OP_COSH, FORM_FUNCTION, CHAIN_FUNCTION, coshf, NULL},
    {OP_DIV, FORM_TWO, CHAIN_DIV, NULL, NULL},
    {OP_ELU, FORM_OWN, 0, NULL, lower_elu},
    {OP_EQUAL, FORM_TWO, CHAIN_EQUAL, NULL, NULL},
    {OP_ERF, FORM_ONE, CHAIN_ERF, NULL, NULL},
    {OP_EXP, FORM_ONE, CHAIN_EXP, NULL, NULL},
    {OP_EXPAND, FORM_OWN, 0, NULL, lower_expand},
    {OP_FLOOR, FORM_ONE, CHAIN_FLOOR, NULL, NULL},
    {OP_GELU, FORM_OWN, 0, NULL, lower_gelu},
    {OP_GLOBAL_AVERAGE_POOL, FORM_CHANNELS, 0, NULL, lower_reduce},
    {OP_GLOBAL_MAX_POOL, FORM_CHANNELS, 0, NULL, lower_reduce},
    {OP_GREATER, FORM_OWN, 0, NULL, lower_greater},
    {OP_GREATER_OR_EQUAL, FORM_OWN, 0, NULL, lower_greater_or_equal},
    {OP_HARD_SIGMOID, FORM_OWN, 0, NULL, lower_hard_sigmoid},
    {OP_HARD_SWISH, FORM_OWN, 0, NULL, lower_hard_swish},
    {OP_INSTANCE_NORMALIZATION, FORM_CHANNELS, 0, NULL, lower_instance_norm},
    {OP_LAYER_NORMALIZATION, FORM_ROWS, 0, NULL, lower_layer_norm},
    {OP_LEAKY_RELU, FORM_OWN, 0, NULL, lower_leaky_relu},
    {OP_LESS, FORM_TWO, CHAIN_LESS, NULL, NULL},
    {OP_LESS_OR_EQUAL, FORM_TWO, CHAIN_LESS_EQUAL, NULL, NULL},
    {OP_LOG, FORM_ONE, CHAIN_LOG, NULL, NULL},
    {OP_LOG_SOFTMAX, FORM_ROWS, 0, NULL, lower_log_softmax},
    {OP_MAX, FORM_OWN, 0, NULL, lower_max},
    {OP_MEAN, FORM_OWN, 0, NULL, lower_mean},
    {OP_MIN, FORM_OWN, 0, NULL, lower_min},
    {OP_MISH, FORM_OWN, 0, NULL, lower_mish},
    {OP_MUL, FORM_TWO, CHAIN_MUL, NULL, NULL},
    {OP_NEG, FORM_OWN, 0, NULL, lower_neg},
    {OP_NOT, FORM_OWN, 0, NULL, lower_not},
    {OP_OR, FORM_TWO, CHAIN_MAX, NULL, NULL},
    {OP_POW, FORM_OWN, 0, NULL, lower_pow},
    {OP_PRELU, FORM_TWO, CHAIN_PRELU, NULL, NULL},
    {OP_RECIPROCAL, FORM_ONE, CHAIN_RECIPROCAL, NULL, NULL},
    {OP_REDUCE_L1, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_REDUCE_L2, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_REDUCE_MAX, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_REDUCE_MEAN, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_REDUCE_MIN, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_REDUCE_SUM, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_REDUCE_SUM_SQUARE, FORM_REDUCE, 0, NULL, lower_reduce},
    {OP_RELU, FORM_OWN, 0, NULL, lower_relu},
    {OP_ROUND, FORM_ONE, CHAIN_ROUND, NULL, NULL},
    {OP_SELU, FORM_OWN, 0, NULL, lower_selu},
    {OP_SIGMOID, FORM_ONE, CHAIN_SIGMOID, NULL, NULL},
    {OP_SIN, FORM_FUNCTION, CHAIN_FUNCTION, sinf, NULL},
    {OP_SINH, FORM_FUNCTION, CHAIN_FUNCTION, sinhf, NULL},
    {OP_SOFTMAX, FORM_ROWS, 0, NULL, lower_softmax},
    {OP_SOFTMAX_GRADIENT, FORM_ROWS, 0, NULL, lower_softmax_gradient},
    {OP_SOFTPLUS, FORM_OWN, 0, NULL, lower_softplus},
    {OP_SOFTSIGN, FORM_OWN, 0, NULL, lower_softsign},
    {OP_SQRT, FORM_ONE, CHAIN_SQRT, NULL, NULL},
    {OP_SUB, FORM_TWO, CHAIN_SUB, NULL, NULL},
    {OP_SUM, FORM_OWN, 0, NULL, lower_sum},
    {OP_TAN, FORM_FUNCTION, CHAIN_FUNCTION, tanf, NULL},
    {OP_TANH, FORM_ONE, CHAIN_TANH, NULL, NULL},
    {OP_THRESHOLDED_RELU, FORM_OWN, 0, NULL, lower_thresholded_relu},
    {OP_UNARY_GRADIENT, FORM_OWN, 0, NULL, lower_unary_gradient},
    {OP_WHERE, FORM_OWN, 0, NULL, lower_where},
};

const struct lower_row *lower_row_find(int id) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].id == id) {
            return &rows[i];
        }
    }
    return NULL;
}
