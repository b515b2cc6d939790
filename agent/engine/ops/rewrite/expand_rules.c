// SPDX-License-Identifier: Apache-2.0
/* Rules: an operator -> nodes of simpler ones. */
#include "agent/engine/ops/rewrite/expand.h"

#include <string.h>

int expand_batch_normalization(struct expansion *expansion, const struct node *node, bool *ret_done,
                               struct error *err UNUSED) {
    bool returns_batch = node->opset < 14 && node->output_count > 1; /* opset 7 to 13 */
    if (!returns_batch && !node_integer(node, "training_mode", 0)) {
        return 0;
    }
    const struct attribute epsilon[] = {{.name = "epsilon",
                                         .kind = ATTRIBUTE_NUMBER,
                                         .number = node_number(node, "epsilon", 1e-5f)},
                                        {.name = NULL}};
    float momentum = node_number(node, "momentum", 0.9f);
    int old = expand_number(expansion, momentum), new = expand_number(expansion, 1 - momentum);
    const int *inputs = node->inputs;
    int y = expand_value(expansion, OP_NORM_TRAINING, INPUTS(inputs[0], inputs[1], inputs[2]), 3,
                         epsilon);
    expand_give(expansion, 0, y);
    for (int i = 1; i < 3; i++) { /* running mean and variance */
        int before = expand_binary(expansion, OP_MUL, inputs[2 + i], old);
        int now = expand_binary(expansion, OP_MUL, y + i, new);
        expand_give(expansion, i, expand_binary(expansion, OP_ADD, before, now));
        expand_give(expansion, i + 2, y + i); /* only before opset 14: those of the batch */
    }
    *ret_done = true;
    return 0;
}

int expand_old_binary(struct expansion *expansion, const struct node *node, bool *ret_done,
                      struct error *err UNUSED) {
    bool is_prelu = strcmp(node->op->name, "PRelu") == 0; /* always one slope per channel */
    const struct attribute axis[] = {{.name = "axis",
                                      .kind = ATTRIBUTE_INTEGER,
                                      .integer = is_prelu ? 1 : node_integer(node, "axis", 0)},
                                     {.name = NULL}};
    int a = node->inputs[0], b = node->inputs[1];
    if (is_prelu || (node_integer(node, "broadcast", 0) && node_attribute(node, "axis"))) {
        b = expand_value(expansion, OP_ALIGN, INPUTS(b, a), 1, axis);
    }
    const struct op *op = op_find(node->op->name, BUILDER_OPSET);
    expand_give(expansion, 0, expand_binary(expansion, (enum op_id)op->id, a, b));
    *ret_done = true;
    return 0;
}

/* (x - mean) / (deviation + 1e-9) over the axes. */
int expand_mean_variance(struct expansion *expansion, const struct node *node, bool *ret_done,
                         struct error *err UNUSED) {
    static const int64_t usual[] = {0, 2, 3};
    size_t count;
    const int64_t *axes = node_integers(node, "axes", &count);
    const struct attribute over[] = {{.name = "axes",
                                      .kind = ATTRIBUTE_INTEGERS,
                                      .count = axes ? count : ARRAY_LEN(usual),
                                      .integers = axes ? axes : usual},
                                     {.name = NULL}};
    int x = node->inputs[0];
    int mean = expand_value(expansion, OP_REDUCE_MEAN, INPUTS(x), 1, over);
    int from_mean = expand_binary(expansion, OP_SUB, x, mean);
    int squares = expand_binary(expansion, OP_MUL, from_mean, from_mean);
    int variance = expand_value(expansion, OP_REDUCE_MEAN, INPUTS(squares), 1, over);
    int deviation = expand_value(expansion, OP_SQRT, INPUTS(variance), 1, NULL);
    int divisor = expand_binary(expansion, OP_ADD, deviation, expand_number(expansion, 1e-9f));
    expand_give(expansion, 0, expand_binary(expansion, OP_DIV, from_mean, divisor));
    *ret_done = true;
    return 0;
}

int expand_cast_like(struct expansion *expansion, const struct node *node, bool *ret_done,
                     struct error *err UNUSED) {
    enum tensor_type type = expand_type(expansion, node->inputs[1]);
    expand_give(expansion, 0, expand_cast(expansion, node->inputs[0], type));
    *ret_done = true;
    return 0;
}

int expand_max_pool(struct expansion *expansion, const struct node *node, bool *ret_done,
                    struct error *err UNUSED) {
    if (node->output_count > 1 && node->outputs[1] >= 0) {
        expand_as(expansion, OP_MAX_POOL_INDICES);
        *ret_done = true;
    }
    return 0;
}

int expand_pad(struct expansion *expansion, const struct node *node, bool *ret_done,
               struct error *err UNUSED) {
    if (strcmp(node_text(node, "mode", "constant"), "wrap") == 0) {
        expand_as(expansion, OP_PAD_WRAP);
        *ret_done = true;
    }
    return 0;
}

/* How many axes at the end are normalized together: the attribute says so if it is negative, else
 * the rank of x must be known. The scale does not show it: it may be broadcast. */
static int64_t find_normalized(struct expansion *expansion, const struct node *node) {
    int64_t axis = node_integer(node, "axis", -1);
    int rank = axis < 0 ? -1 : expand_rank(expansion, node->inputs[0]);
    int64_t count = axis < 0 ? -axis : rank < 0 ? 0 : rank - axis;
    return count >= 1 && count <= TENSOR_RANK_MAX ? count : 0;
}

int expand_layer_axis(struct expansion *expansion, const struct node *node, bool *ret_done,
                      struct error *err UNUSED) {
    int64_t axis = node_integer(node, "axis", -1), count = find_normalized(expansion, node);
    if (axis < 0 || count == 0) {
        return 0;
    }
    struct node turned = *node;
    struct attribute *attributes =
        arena_array(&expansion->builder.graph.arena, node->attribute_count, sizeof *attributes);
    for (size_t i = 0; i < node->attribute_count; i++) {
        attributes[i] = node->attributes[i];
        if (strcmp(attributes[i].name, "axis") == 0) {
            attributes[i].integer = -count;
        }
    }
    turned.attributes = attributes;
    builder_append(&expansion->builder, &turned);
    *ret_done = true;
    return 0;
}

int expand_rms_normalization(struct expansion *expansion, const struct node *node, bool *ret_done,
                             struct error *err) {
    int64_t count = find_normalized(expansion, node), *axes;
    if (count == 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "attribute \"axis\" %lld: where the rank of the input is not known, one "
                         "counted from the end (-1) is supported",
                         (long long)node_integer(node, "axis", -1));
    }
    axes = arena_array(&expansion->builder.graph.arena, (size_t)count, sizeof *axes);
    for (int64_t i = 0; i < count; i++) {
        axes[i] = i - count;
    }
    const struct attribute over[] = {
        {.name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = (size_t)count, .integers = axes},
        {.name = NULL}};
    int x = node->inputs[0];
    int epsilon = expand_number(expansion, node_number(node, "epsilon", 1e-5f));
    int square = expand_value(expansion, OP_REDUCE_MEAN,
                              INPUTS(expand_binary(expansion, OP_MUL, x, x)), 1, over);
    int root = expand_value(expansion, OP_SQRT,
                            INPUTS(expand_binary(expansion, OP_ADD, square, epsilon)), 1, NULL);
    expand_give(expansion, 0,
                expand_binary(expansion, OP_MUL, expand_binary(expansion, OP_DIV, x, root),
                              node->inputs[1]));
    *ret_done = true;
    return 0;
}
