// SPDX-License-Identifier: Apache-2.0
/* Gradients of operators that move elements, and of sums. */
#include "agent/engine/ops/training/gradient.h"

enum { SETTINGS_MAX = 7 /* inputs of an operator behind the first one */ };

/* Reshape, Flatten, Squeeze, Unsqueeze. */
int gradient_reshape(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    int shape = gradient_shape(gradient, node->inputs[0]);
    gradient_add(gradient, node->inputs[0], gradient_node(gradient, OP_RESHAPE, V(dy, shape)));
    return 0;
}

int gradient_transpose(struct gradient *gradient, const struct node *node,
                       struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]);
    size_t count;
    const int64_t *order = node_integers(node, "perm", &count);
    int64_t *inverse =
        arena_array(&gradient_builder(gradient)->graph.arena, TENSOR_RANK_MAX, sizeof *inverse);
    for (size_t i = 0; i < MIN(count, TENSOR_RANK_MAX); i++) {
        if (order[i] >= 0 && order[i] < TENSOR_RANK_MAX) { /* otherwise the shape rule refuses it */
            inverse[order[i]] = (int64_t)i;
        }
    }
    const struct attribute perm = {
        .name = "perm", .kind = ATTRIBUTE_INTEGERS, .count = count, .integers = inverse};
    gradient_add(gradient, node->inputs[0],
                 gradient_node_with(gradient, OP_TRANSPOSE, V(dy), order ? &perm : NULL));
    return 0;
}

static struct attribute axis_of(const struct node *node) {
    return (struct attribute){
        .name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = node_integer(node, "axis", 0)};
}

/* Appends a node with any number of inputs and outputs. */
static int along_axis(struct gradient *gradient, enum op_id id, const struct node *node,
                      const int *inputs, int input_count, int output_count) {
    const struct attribute axis = axis_of(node);
    const struct builder_new_node plan = {.op = op_of_id(id),
                                          .name = node->name,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .output_count = output_count,
                                          .attribute_count = 1,
                                          .attributes = &axis};
    return builder_node(gradient_builder(gradient), &plan);
}

/* The gradient is a Split, with the sizes of the inputs along the axis. */
int gradient_concat(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    struct builder *builder = gradient_builder(gradient);
    int64_t axis = node_integer(node, "axis", 0);
    int at = builder_integers(builder, &axis, 1), sizes[NODE_PORTS_MAX];
    for (int i = 0; i < node->input_count; i++) {
        int shape = gradient_shape(gradient, node->inputs[i]);
        sizes[i] = gradient_node(gradient, OP_GATHER, V(shape, at));
    }
    const struct node first = {.name = node->name}; /* lists are concatenated along axis 0 */
    int all = along_axis(gradient, OP_CONCAT, &first, sizes, node->input_count, 1);
    int dy = gradient_of(gradient, node->outputs[0]);
    int parts = along_axis(gradient, OP_SPLIT, node, V(dy, all), 2, node->input_count);
    for (int i = 0; i < node->input_count; i++) {
        gradient_add(gradient, node->inputs[i], parts + i);
    }
    return 0;
}

int gradient_split(struct gradient *gradient, const struct node *node, struct error *err) {
    int parts[NODE_PORTS_MAX];
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i] < 0) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "output %d has no name, and each part is needed for the gradient", i);
        }
        parts[i] = gradient_of(gradient, node->outputs[i]);
        if (parts[i] < 0) { /* nothing reads this part */
            int zero = builder_number(gradient_builder(gradient), 0);
            int shape = gradient_shape(gradient, node->outputs[i]);
            parts[i] = gradient_node(gradient, OP_EXPAND, V(zero, shape));
        }
    }
    gradient_add(gradient, node->inputs[0],
                 along_axis(gradient, OP_CONCAT, node, parts, node->output_count, 1));
    return 0;
}

int gradient_expand(struct gradient *gradient, const struct node *node, struct error *err UNUSED) {
    gradient_add_summed(gradient, node->inputs[0], gradient_of(gradient, node->outputs[0]));
    return 0;
}

int gradient_add_settings(struct gradient *gradient, const struct node *node, enum op_id id,
                          int value, struct error *err) {
    int inputs[SETTINGS_MAX + 3] = {gradient_of(gradient, node->outputs[0]), value};
    int count = 2;
    for (int i = 1; i < node->input_count && i <= SETTINGS_MAX; i++) {
        if (gradient_wants(gradient, node->inputs[i])) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "the gradient for input %d, which is trained, is not supported", i);
        }
        inputs[count++] = node->inputs[i];
    }
    inputs[count] = -2;
    gradient_add(gradient, node->inputs[0], gradient_node_of(gradient, id, inputs, 1));
    return 0;
}

int gradient_move(struct gradient *gradient, const struct node *node, struct error *err) {
    int shape = gradient_shape(gradient, node->inputs[0]);
    return gradient_add_settings(gradient, node, OP_MOVE_GRADIENT, shape, err);
}

int gradient_resize(struct gradient *gradient, const struct node *node, struct error *err) {
    int shape = gradient_shape(gradient, node->inputs[0]);
    return gradient_add_settings(gradient, node, OP_RESIZE_GRADIENT, shape, err);
}

int gradient_axes(struct gradient *gradient, const struct node *node) {
    size_t count;
    const int64_t *axes = node_integers(node, "axes", &count);
    return axes && count
               ? builder_integers(gradient_builder(gradient), axes, (int)MIN(count, INT32_MAX))
           : node->input_count > 1 ? node->inputs[1]
                                   : -1;
}

int gradient_with_axes(struct gradient *gradient, const struct node *node, int value, int axes) {
    bool keeps = node_integer(node, "keepdims", 1);
    return keeps || axes < 0 ? value : gradient_node(gradient, OP_UNSQUEEZE, V(value, axes));
}

int gradient_share(struct gradient *gradient, int dy, int few, int many) {
    const struct attribute to = {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    int counts[2] = {few, many};
    for (int i = 0; i < 2; i++) {
        counts[i] = gradient_node(gradient, OP_SIZE, V(counts[i]));
        counts[i] = gradient_node_with(gradient, OP_CAST, V(counts[i]), &to);
    }
    int share = gradient_node(gradient, OP_DIV, V(counts[0], counts[1]));
    return gradient_node(gradient, OP_MUL, V(dy, share));
}

/* ReduceSum and ReduceMean. */
int gradient_reduce_sum(struct gradient *gradient, const struct node *node,
                        struct error *err UNUSED) {
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0];
    if (node->op->id == OP_REDUCE_MEAN) {
        dy = gradient_share(gradient, dy, node->outputs[0], x);
    }
    dy = gradient_with_axes(gradient, node, dy, gradient_axes(gradient, node));
    int shape = gradient_shape(gradient, x);
    gradient_add(gradient, x, gradient_node(gradient, OP_EXPAND, V(dy, shape)));
    return 0;
}

/* ReduceMax and ReduceMin. Equal elements share the gradient. */
int gradient_reduce_extreme(struct gradient *gradient, const struct node *node, struct error *err) {
    if (node_integer(node, "noop_with_empty_axes", 0)) { /* the count below would be wrong */
        return error_set(
            err, ERROR_UNSUPPORTED,
            "attribute \"noop_with_empty_axes\" is supported for inference, not for training");
    }
    const struct attribute to = {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    int x = node->inputs[0], axes = gradient_axes(gradient, node);
    int y = gradient_with_axes(gradient, node, node->outputs[0], axes);
    int mask = gradient_node(gradient, OP_EQUAL, V(x, y));
    mask = gradient_node_with(gradient, OP_CAST, V(mask), &to);
    int count = gradient_node(gradient, OP_REDUCE_SUM, V(mask, axes));
    int dy = gradient_with_axes(gradient, node, gradient_of(gradient, node->outputs[0]), axes);
    int share = gradient_node(gradient, OP_DIV, V(dy, count));
    gradient_add(gradient, x, gradient_node(gradient, OP_MUL, V(mask, share)));
    return 0;
}

/* The derivative of a reduction by x, which is a formula of x and y; it broadcasts to x. */
static int reduction_slope(struct gradient *gradient, const struct node *node, int x, int y) {
    int zero = builder_number(gradient_builder(gradient), 0);
    switch (node->op->id) {
    case OP_REDUCE_L1:
        return gradient_node(gradient, OP_SIGN, V(x));
    case OP_REDUCE_L2: { /* zeros have no direction: 0, as in PyTorch */
        int slope = gradient_node(gradient, OP_DIV, V(x, y));
        int is_zero = gradient_node(gradient, OP_EQUAL, V(y, zero));
        return gradient_node(gradient, OP_WHERE, V(is_zero, zero, slope));
    }
    case OP_REDUCE_LOG_SUM_EXP:
        return gradient_node(gradient, OP_EXP, V(gradient_node(gradient, OP_SUB, V(x, y))));
    case OP_REDUCE_SUM_SQUARE:
        return gradient_node(gradient, OP_ADD, V(x, x));
    default: /* ReduceLogSum */
        return gradient_node(gradient, OP_EXP, V(gradient_node(gradient, OP_NEG, V(y))));
    }
}

/* ReduceL1, L2, LogSum, LogSumExp, SumSquare. */
int gradient_reduce_formula(struct gradient *gradient, const struct node *node, struct error *err) {
    if (node_integer(node, "noop_with_empty_axes", 0)) {
        return error_set(
            err, ERROR_UNSUPPORTED,
            "attribute \"noop_with_empty_axes\" is supported for inference, not for training");
    }
    int x = node->inputs[0], axes = gradient_axes(gradient, node);
    int y = gradient_with_axes(gradient, node, node->outputs[0], axes);
    int dy = gradient_with_axes(gradient, node, gradient_of(gradient, node->outputs[0]), axes);
    int slope = reduction_slope(gradient, node, x, y);
    int dx = gradient_node(gradient, OP_MUL, V(dy, slope));
    gradient_add(gradient, x,
                 gradient_node(gradient, OP_EXPAND, V(dx, gradient_shape(gradient, x))));
    return 0;
}
