// SPDX-License-Identifier: Apache-2.0
/* Gradients of operators that are a formula of others: they need no kernels of their own. */
#include "agent/engine/ops/training/gradient.h"

#include <math.h>
#include <string.h>

static int one(struct gradient *gradient, enum op_id id, int a) {
    return gradient_node(gradient, id, V(a));
}

static int two(struct gradient *gradient, enum op_id id, int a, int b) {
    return gradient_node(gradient, id, V(a, b));
}

static int number(struct gradient *gradient, double value) {
    return builder_number(gradient_builder(gradient), (float)value);
}

static int scaled(struct gradient *gradient, int value, double factor) {
    return two(gradient, OP_MUL, value, number(gradient, factor));
}

/* ---- functions of one number ---- */

/* Of x Phi(x): Phi(x) + x phi(x). */
static int gelu_slope(struct gradient *gradient, int x) {
    int error = one(gradient, OP_ERF, scaled(gradient, x, M_SQRT1_2));
    int below = scaled(gradient, two(gradient, OP_ADD, error, number(gradient, 1)), 0.5);
    int density = one(gradient, OP_EXP, scaled(gradient, two(gradient, OP_MUL, x, x), -0.5));
    density = scaled(gradient, two(gradient, OP_MUL, x, density), 0.3989422804014327);
    return two(gradient, OP_ADD, below, density);
}

/* Of x (1 + tanh u) / 2, u = c (x + k x^3): (1 + t + x (1 - t^2) c (1 + 3 k x^2)) / 2. */
static int tanh_gelu_slope(struct gradient *gradient, int x) {
    const double c = 0.7978845608028654, k = 0.044715;
    int square = two(gradient, OP_MUL, x, x), ones = number(gradient, 1);
    int inner = two(gradient, OP_ADD, ones, scaled(gradient, square, k));
    int t = one(gradient, OP_TANH, scaled(gradient, two(gradient, OP_MUL, x, inner), c));
    int rest = two(gradient, OP_SUB, ones, two(gradient, OP_MUL, t, t));
    int steep = two(gradient, OP_ADD, ones, scaled(gradient, square, 3 * k));
    int turn = two(gradient, OP_MUL, two(gradient, OP_MUL, x, rest), scaled(gradient, steep, c));
    return scaled(gradient, two(gradient, OP_ADD, two(gradient, OP_ADD, ones, t), turn), 0.5);
}

/* Of x t, t = tanh(softplus(x)): t + x (1 - t^2) sigmoid(x). */
static int mish_slope(struct gradient *gradient, int x) {
    int t = one(gradient, OP_TANH, one(gradient, OP_SOFTPLUS, x));
    int rest = two(gradient, OP_SUB, number(gradient, 1), two(gradient, OP_MUL, t, t));
    rest = two(gradient, OP_MUL, rest, one(gradient, OP_SIGMOID, x));
    return two(gradient, OP_ADD, t, two(gradient, OP_MUL, x, rest));
}

/* Of x above 0, alpha (exp(x / alpha) - 1) below: exp(min(x, 0) / alpha). */
static int celu_slope(struct gradient *gradient, const struct node *node, int x) {
    int below = two(gradient, OP_MIN, x, number(gradient, 0));
    return one(gradient, OP_EXP,
               two(gradient, OP_DIV, below, number(gradient, node_number(node, "alpha", 1))));
}

/* 1 / sum, 1 / sqrt(sum), of sum = constant + factor x^2. */
static int over_square(struct gradient *gradient, int x, double constant, double factor,
                       bool is_root) {
    int square = scaled(gradient, two(gradient, OP_MUL, x, x), factor);
    int sum = two(gradient, OP_ADD, square, number(gradient, constant));
    return one(gradient, OP_RECIPROCAL, is_root ? one(gradient, OP_SQRT, sum) : sum);
}

/* 1 above the threshold, else 0. */
static int is_above(struct gradient *gradient, int x, double threshold) {
    const struct attribute to = {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    int is = two(gradient, OP_GREATER, x, number(gradient, threshold));
    return gradient_node_with(gradient, OP_CAST, V(is), &to);
}

/* Trigonometric and hyperbolic functions; -1: none of them. */
static int angle_slope(struct gradient *gradient, const struct node *node, int x) {
    int y = node->outputs[0];
    switch (node->op->id) {
    case OP_SIN:
        return one(gradient, OP_COS, x);
    case OP_COS:
        return one(gradient, OP_NEG, one(gradient, OP_SIN, x));
    case OP_TAN:
        return two(gradient, OP_ADD, two(gradient, OP_MUL, y, y), number(gradient, 1));
    case OP_SINH:
        return one(gradient, OP_COSH, x);
    case OP_COSH:
        return one(gradient, OP_SINH, x);
    case OP_ACOS:
        return one(gradient, OP_NEG, over_square(gradient, x, 1, -1, true));
    case OP_ASIN:
        return over_square(gradient, x, 1, -1, true);
    case OP_ATAN:
        return over_square(gradient, x, 1, 1, false);
    case OP_ACOSH:
        return over_square(gradient, x, -1, 1, true);
    case OP_ASINH:
        return over_square(gradient, x, 1, 1, true);
    case OP_ATANH:
        return over_square(gradient, x, 1, -1, false);
    default:
        return -1;
    }
}

int gradient_function(struct gradient *gradient, const struct node *node, struct error *err) {
    int x = node->inputs[0], slope;
    switch (node->op->id) {
    case OP_CELU:
        slope = celu_slope(gradient, node, x);
        break;
    case OP_GELU:
        slope = strcmp(node_text(node, "approximate", "none"), "tanh") == 0
                    ? tanh_gelu_slope(gradient, x)
                    : gelu_slope(gradient, x);
        break;
    case OP_MISH:
        slope = mish_slope(gradient, x);
        break;
    case OP_SHRINK:
        slope = is_above(gradient, one(gradient, OP_ABS, x), node_number(node, "lambd", 0.5f));
        break;
    case OP_THRESHOLDED_RELU:
        slope = is_above(gradient, x, node_number(node, "alpha", 1));
        break;
    default:
        slope = angle_slope(gradient, node, x);
    }
    if (slope < 0) {
        return error_set(err, ERROR_BUG, "not a function of one number");
    }
    int dy = gradient_of(gradient, node->outputs[0]);
    gradient_add(gradient, x, two(gradient, OP_MUL, dy, slope));
    return 0;
}

int gradient_mean(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int share = scaled(gradient, gradient_of(gradient, node->outputs[0]), 1.0 / node->input_count);
    for (int i = 0; i < node->input_count; i++) {
        gradient_add_summed(gradient, node->inputs[i], share);
    }
    return 0;
}

/* The same sum, from the other end. */
int gradient_cum_sum(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    const struct attribute attributes[] = {
        {.name = "exclusive",
         .kind = ATTRIBUTE_INTEGER,
         .integer = node_integer(node, "exclusive", 0)},
        {.name = "reverse",
         .kind = ATTRIBUTE_INTEGER,
         .integer = !node_integer(node, "reverse", 0)},
    };
    const struct builder_new_node sum = {
        .op = node->op,
        .name = node->name,
        .opset = node->opset,
        .inputs = V(gradient_of(gradient, node->outputs[0]), node->inputs[1]),
        .input_count = 2,
        .output_count = 1,
        .attribute_count = ARRAY_LEN(attributes),
        .attributes = attributes};
    gradient_add(gradient, node->inputs[0], builder_node(gradient_builder(gradient), &sum));
    return 0;
}

/* ---- norms over some axes: h = (x - mean) / d, d = sqrt(variance + epsilon) ---- */

struct centred {
    struct attribute axes;
    int h, d;
};

static int mean_over(struct gradient *gradient, const struct centred *centred, int value) {
    return gradient_node_with(gradient, OP_REDUCE_MEAN, V(value), &centred->axes);
}

/* Over the last `count` axes. */
static struct centred centre(struct gradient *gradient, const struct node *node, int x, int count) {
    struct centred centred = {
        .axes = {.name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = (size_t)count}};
    int64_t *axes =
        arena_array(&gradient_builder(gradient)->graph.arena, (size_t)count, sizeof *axes);
    for (int i = 0; i < count; i++) {
        axes[i] = i - count;
    }
    centred.axes.integers = axes;
    int c = two(gradient, OP_SUB, x, mean_over(gradient, &centred, x));
    int variance = mean_over(gradient, &centred, two(gradient, OP_MUL, c, c));
    int epsilon = number(gradient, node_number(node, "epsilon", 1e-5f));
    centred.d = one(gradient, OP_SQRT, two(gradient, OP_ADD, variance, epsilon));
    centred.h = two(gradient, OP_DIV, c, centred.d);
    return centred;
}

/* dx = (dh - mean(dh) - h mean(dh h)) / d. */
static int through(struct gradient *gradient, const struct centred *centred, int dh) {
    int along = mean_over(gradient, centred, two(gradient, OP_MUL, dh, centred->h));
    int rest = two(gradient, OP_SUB, dh, mean_over(gradient, centred, dh));
    rest = two(gradient, OP_SUB, rest, two(gradient, OP_MUL, centred->h, along));
    return two(gradient, OP_DIV, rest, centred->d);
}

int gradient_layer_normalization(struct gradient *gradient, const struct node *node,
                                 struct error *err) {
    int64_t axis = node_integer(node, "axis", -1);
    int dy = gradient_of(gradient, node->outputs[0]), scale = node->inputs[1];
    for (int i = 1; i < node->output_count; i++) {
        if (gradient_of(gradient, node->outputs[i]) >= 0) {
            return error_set(err, ERROR_UNSUPPORTED, "the statistics have a gradient");
        }
    }
    if (axis >= 0 || axis < -TENSOR_RANK_MAX) { /* gradient_has_rule */
        return error_set(err, ERROR_BUG, "axis %lld: one from the end is expected",
                         (long long)axis);
    }
    struct centred centred = centre(gradient, node, node->inputs[0], (int)-axis);
    if (gradient_wants(gradient, node->inputs[0])) {
        int dh = two(gradient, OP_MUL, dy, scale);
        gradient_add(gradient, node->inputs[0], through(gradient, &centred, dh));
    }
    gradient_add_summed(gradient, scale, two(gradient, OP_MUL, dy, centred.h));
    if (node->input_count > 2) {
        gradient_add_summed(gradient, node->inputs[2], dy);
    }
    return 0;
}

static int reshape(struct gradient *gradient, int value, int64_t second) {
    const int64_t shape[] = {0, second, -1}; /* 0: as it is */
    return two(gradient, OP_RESHAPE, value,
               builder_integers(gradient_builder(gradient), shape, ARRAY_LEN(shape)));
}

/* [n, scales, -1] -> [scales]. */
static int sum_scales(struct gradient *gradient, int value) {
    static const int64_t axes[] = {0, 2};
    const struct attribute keeps = {.name = "keepdims", .kind = ATTRIBUTE_INTEGER, .integer = 0};
    int over = builder_integers(gradient_builder(gradient), axes, ARRAY_LEN(axes));
    return gradient_node_with(gradient, OP_REDUCE_SUM, V(value, over), &keeps);
}

/* One scale per group before opset 21, per channel from then on. */
int gradient_group_normalization(struct gradient *gradient, const struct node *node,
                                 struct error *err UNUSED) {
    static const int64_t last = 1;
    int64_t groups = node_integer(node, "num_groups", 1);
    int64_t scales = node->opset < 21 ? groups : 0;
    int x = node->inputs[0], scale = node->inputs[1], bias = node->inputs[2];
    int dy = reshape(gradient, gradient_of(gradient, node->outputs[0]), scales);
    struct centred centred = centre(gradient, node, reshape(gradient, x, groups), 1);
    if (gradient_wants(gradient, x)) {
        int column = two(gradient, OP_UNSQUEEZE, scale,
                         builder_integers(gradient_builder(gradient), &last, 1));
        int dh = reshape(gradient, two(gradient, OP_MUL, dy, column), groups);
        /* Channels of a group are one row only in x's order, so its shape leads back. */
        int dx = through(gradient, &centred, dh);
        gradient_add(gradient, x, two(gradient, OP_RESHAPE, dx, gradient_shape(gradient, x)));
    }
    if (gradient_wants(gradient, scale)) {
        int like = one(gradient, OP_SHAPE, dy);
        int h = two(gradient, OP_RESHAPE, centred.h, like);
        gradient_add(gradient, scale, sum_scales(gradient, two(gradient, OP_MUL, dy, h)));
    }
    if (gradient_wants(gradient, bias)) {
        gradient_add(gradient, bias, sum_scales(gradient, dy));
    }
    return 0;
}
