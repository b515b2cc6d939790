// SPDX-License-Identifier: Apache-2.0
// Gradients of elementwise operators as instructions: what device/cpu/training/gradient.c computes
// with a loop each.
#include "agent/engine/device/cpu/chain/chain_lower.h"
#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/table.h"

// 1 where number < v, else 0; or number <= v.
static int above(struct lower *l, enum chain_op less, float number, int v) {
    return lower_two(l, less, lower_number(l, number), v);
}

static int square(struct lower *l, int v) {
    return lower_two(l, CHAIN_MUL, v, v);
}

// v < 0 ? below : beyond
static int below_zero(struct lower *l, int v, int below, float beyond) {
    return lower_pick(l, lower_with_number(l, CHAIN_LESS, v, 0), below, lower_number(l, beyond));
}

static int slope_of_clip(struct lower *l, int v) {
    float bounds[2];
    chain_clip_bounds(l, 2, bounds);
    return lower_two(l, CHAIN_MUL, above(l, CHAIN_LESS_EQUAL, bounds[0], v),
                     lower_with_number(l, CHAIN_LESS_EQUAL, v, bounds[1]));
}

static int slope_of_hard_sigmoid(struct lower *l, int v, float a, float b) {
    int t = lower_affine(l, v, a, b);
    int inside =
        lower_two(l, CHAIN_MUL, above(l, CHAIN_LESS, 0, t), lower_with_number(l, CHAIN_LESS, t, 1));
    return lower_affine(l, inside, a, 0);
}

static int slope_of_hard_swish(struct lower *l, int v) {
    int inner = lower_affine(l, v, 1.0F / 3, 0.5F);
    int low = lower_with_number(l, CHAIN_LESS_EQUAL, v, -3);
    inner = lower_pick(l, low, lower_number(l, 0), inner);
    return lower_pick(l, above(l, CHAIN_LESS_EQUAL, 3, v), lower_number(l, 1), inner);
}

static int exponential(struct lower *l, int v, float factor) {
    return lower_affine(l, lower_one(l, CHAIN_EXP, v), factor, 0);
}

// The derivative at v, the forward operator's x, or y where that is enough.
static int slope_of(struct lower *l, int op, int v) {
    float a, b;
    elementwise_unary_numbers(l->step->node, op, &a, &b);
    switch (op) {
    case OP_CLIP:
        return slope_of_clip(l, v);
    case OP_ELU:
        return below_zero(l, v, exponential(l, v, a), 1);
    case OP_ERF:
        return lower_affine(l, lower_one(l, CHAIN_EXP, lower_affine(l, square(l, v), -1, 0)),
                            1.1283791670955126F, 0);
    case OP_HARD_SIGMOID:
        return slope_of_hard_sigmoid(l, v, a, b);
    case OP_HARD_SWISH:
        return slope_of_hard_swish(l, v);
    case OP_LEAKY_RELU:
        return below_zero(l, v, lower_number(l, a), 1);
    case OP_RELU:
        return above(l, CHAIN_LESS, 0, v);
    case OP_SELU:
        return below_zero(l, v, exponential(l, v, b * a), b);
    case OP_SIGMOID:
        return lower_two(l, CHAIN_MUL, v, lower_affine(l, v, -1, 1));
    case OP_SOFTPLUS:
        return lower_one(l, CHAIN_SIGMOID, v);
    case OP_TANH:
        return lower_affine(l, square(l, v), -1, 1);
    default: // Abs, Log, Reciprocal, Softsign, Sqrt: rare, and have their own loops
        l->failed = true;
        return 0;
    }
}

int lower_unary_gradient(struct lower *l) {
    struct node forward = op_forward_node(l->step->node);
    int dy = lower_value(l, 0), v = lower_value(l, 1);
    if (l->failed || !forward.op) {
        l->failed = true;
        return 0;
    }
    return forward.op->id == OP_EXP ? lower_two(l, CHAIN_MUL, dy, v)
                                    : lower_two(l, CHAIN_MUL, dy, slope_of(l, forward.op->id, v));
}
