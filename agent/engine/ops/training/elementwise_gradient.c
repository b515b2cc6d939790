// SPDX-License-Identifier: Apache-2.0
/* Gradients of elementwise operators. */
#include "agent/engine/ops/training/gradient.h"

int gradient_same(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    gradient_add(gradient, node->inputs[0], gradient_of(gradient, node->outputs[0]));
    return 0;
}

int gradient_neg(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    gradient_add(gradient, node->inputs[0], gradient_node(gradient, OP_NEG, V(dy)));
    return 0;
}

/* Add and Sum. */
int gradient_add_rule(struct gradient *gradient, const struct node *node,
                      struct error *err UNUSED) {
    for (int i = 0; i < node->input_count; i++) {
        gradient_add_summed(gradient, node->inputs[i], gradient_of(gradient, node->outputs[0]));
    }
    return 0;
}

int gradient_sub(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    gradient_add_summed(gradient, node->inputs[0], dy);
    if (gradient_wants(gradient, node->inputs[1])) {
        gradient_add_summed(gradient, node->inputs[1], gradient_node(gradient, OP_NEG, V(dy)));
    }
    return 0;
}

int gradient_mul(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    for (int i = 0; i < 2; i++) {
        if (gradient_wants(gradient, node->inputs[i])) {
            int product = gradient_node(gradient, OP_MUL, V(dy, node->inputs[1 - i]));
            gradient_add_summed(gradient, node->inputs[i], product);
        }
    }
    return 0;
}

/* y = a / b: da = dy / b, db = - da * y. */
int gradient_div(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    int da = gradient_node(gradient, OP_DIV, V(dy, node->inputs[1]));
    gradient_add_summed(gradient, node->inputs[0], da);
    if (gradient_wants(gradient, node->inputs[1])) {
        int product = gradient_node(gradient, OP_MUL, V(da, node->outputs[0]));
        gradient_add_summed(gradient, node->inputs[1], gradient_node(gradient, OP_NEG, V(product)));
    }
    return 0;
}

static int to_float(struct gradient *gradient, int value) {
    const struct attribute to = {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    return gradient_node_with(gradient, OP_CAST, V(value), &to);
}

/* y = x ^ p: dx = dy p x ^ (p - 1), dp = dy y log x where x > 0. */
int gradient_pow(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    struct builder *builder = gradient_builder(gradient);
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0], p = node->inputs[1];
    if (gradient_wants(gradient, x)) {
        int power = to_float(gradient, p);
        int less = gradient_node(gradient, OP_SUB, V(power, builder_number(builder, 1)));
        int slope = gradient_node(gradient, OP_POW, V(x, less));
        slope = gradient_node(gradient, OP_MUL, V(power, slope));
        gradient_add_summed(gradient, x, gradient_node(gradient, OP_MUL, V(dy, slope)));
    }
    if (gradient_wants(gradient, p)) {
        int is_positive = gradient_node(gradient, OP_GREATER, V(x, builder_number(builder, 0)));
        int base = gradient_node(gradient, OP_WHERE, V(is_positive, x, builder_number(builder, 1)));
        int slope = gradient_node(gradient, OP_LOG, V(base));
        slope = gradient_node(gradient, OP_MUL, V(node->outputs[0], slope));
        gradient_add_summed(gradient, p, gradient_node(gradient, OP_MUL, V(dy, slope)));
    }
    return 0;
}

int gradient_where(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), condition = node->inputs[0];
    int zero = builder_number(gradient_builder(gradient), 0);
    int taken = gradient_node(gradient, OP_WHERE, V(condition, dy, zero));
    gradient_add_summed(gradient, node->inputs[1], taken);
    int other = gradient_node(gradient, OP_WHERE, V(condition, zero, dy));
    gradient_add_summed(gradient, node->inputs[2], other);
    return 0;
}

/* Equal elements share: dx_i = dy [x_i == y] / number of equal ones. */
int gradient_max_min(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), y = node->outputs[0], count = -1;
    int masks[NODE_PORTS_MAX];
    for (int i = 0; i < node->input_count; i++) {
        masks[i] = to_float(gradient, gradient_node(gradient, OP_EQUAL, V(y, node->inputs[i])));
        count = i ? gradient_node(gradient, OP_ADD, V(count, masks[i])) : masks[i];
    }
    int share = gradient_node(gradient, OP_DIV, V(dy, count));
    for (int i = 0; i < node->input_count; i++) {
        if (gradient_wants(gradient, node->inputs[i])) {
            int part = gradient_node(gradient, OP_MUL, V(share, masks[i]));
            gradient_add_summed(gradient, node->inputs[i], part);
        }
    }
    return 0;
}

/* Whether the derivative is computed from y, so that x need not be kept. */
static bool is_by_y(int id) {
    return id == OP_EXP || id == OP_RECIPROCAL || id == OP_RELU || id == OP_SIGMOID ||
           id == OP_SQRT || id == OP_TANH;
}

int gradient_unary(struct gradient *gradient, const struct node *node, struct error *err) {
    int value = is_by_y(node->op->id) ? node->outputs[0] : node->inputs[0];
    return gradient_add_settings(gradient, node, OP_UNARY_GRADIENT, value, err);
}

/* y = x < 0 ? slope x : x. */
int gradient_prelu(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    struct builder *builder = gradient_builder(gradient);
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0], slope = node->inputs[1];
    int zero = builder_number(builder, 0);
    int is_negative = gradient_node(gradient, OP_LESS, V(x, zero));
    if (gradient_wants(gradient, x)) {
        int scaled = gradient_node(gradient, OP_MUL, V(dy, slope));
        gradient_add(gradient, x, gradient_node(gradient, OP_WHERE, V(is_negative, scaled, dy)));
    }
    if (gradient_wants(gradient, slope)) {
        int product = gradient_node(gradient, OP_MUL, V(dy, x));
        int part = gradient_node(gradient, OP_WHERE, V(is_negative, product, zero));
        gradient_add_summed(gradient, slope, part);
    }
    return 0;
}

/* Between floats only float32 to float32 has a rule: the identity. */
int gradient_cast(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    if (node_integer(node, "to", 0) == 1) {
        gradient_add(gradient, node->inputs[0], gradient_of(gradient, node->outputs[0]));
    }
    return 0;
}

/* y = a - q b, where q is a whole number. */
int gradient_mod(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), a = node->inputs[0], b = node->inputs[1];
    gradient_add_summed(gradient, a, dy);
    if (gradient_wants(gradient, b)) {
        int rest = gradient_node(gradient, OP_SUB, V(node->outputs[0], a));
        int whole = gradient_node(gradient, OP_DIV, V(rest, b));
        gradient_add_summed(gradient, b, gradient_node(gradient, OP_MUL, V(dy, whole)));
    }
    return 0;
}

int gradient_round_bfloat(struct gradient *gradient, const struct node *node,
                          struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    gradient_add(gradient, node->inputs[0], gradient_node(gradient, OP_ROUND_BFLOAT, V(dy)));
    return 0;
}
