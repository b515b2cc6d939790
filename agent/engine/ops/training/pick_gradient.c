// SPDX-License-Identifier: Apache-2.0
/* Gradients of operators that pick elements, or replace some, or pick between pixels; and of
 * products over an axis. */
#include "agent/engine/ops/training/gradient.h"

#include <string.h>

static struct attribute axis_of(const struct node *node, int64_t usual) {
    return (struct attribute){
        .name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = node_integer(node, "axis", usual)};
}

static int zeros_like(struct gradient *gradient, int value) {
    int zero = builder_number(gradient_builder(gradient), 0);
    return gradient_node(gradient, OP_EXPAND, V(zero, gradient_shape(gradient, value)));
}

/* The values' gradients go back to where the indices say; no element is taken twice. */
int gradient_top_k(struct gradient *gradient, const struct node *node, struct error *err) {
    int dy = gradient_of(gradient, node->outputs[0]), x = node->inputs[0];
    const struct attribute axis = axis_of(node, -1);
    if (dy < 0) { /* only the indices are read */
        return 0;
    }
    if (node->output_count < 2 || node->outputs[1] < 0) {
        return error_set(err, ERROR_UNSUPPORTED, "the output with the indices has no name");
    }
    gradient_add(gradient, x,
                 gradient_node_with(gradient, OP_SCATTER_ELEMENTS,
                                    V(zeros_like(gradient, x), node->outputs[1], dy), &axis));
    return 0;
}

static int check_reduction(const struct node *node, bool *ret_adds, struct error *err) {
    const char *reduction = node_text(node, "reduction", "none");
    *ret_adds = strcmp(reduction, "add") == 0;
    return *ret_adds || strcmp(reduction, "none") == 0
               ? 0
               : error_set(err, ERROR_UNSUPPORTED,
                           "attribute \"reduction\": %.20s is supported for inference alone: "
                           "training needs none or add",
                           reduction);
}

/* What was replaced has no gradient; the updates' is picked from dy. */
static int scatter(struct gradient *gradient, const struct node *node, enum op_id scatters,
                   enum op_id gathers, const struct attribute *axis, struct error *err) {
    int dy = gradient_of(gradient, node->outputs[0]);
    int x = node->inputs[0], indices = node->inputs[1], updates = node->inputs[2];
    bool adds;
    if (check_reduction(node, &adds, err) < 0) {
        return -1;
    }
    if (gradient_wants(gradient, x)) {
        int rest = adds ? dy
                        : gradient_node_with(gradient, scatters,
                                             V(dy, indices, zeros_like(gradient, updates)), axis);
        gradient_add(gradient, x, rest);
    }
    if (gradient_wants(gradient, updates)) {
        gradient_add(gradient, updates,
                     gradient_node_with(gradient, gathers, V(dy, indices), axis));
    }
    return 0;
}

int gradient_scatter_elements(struct gradient *gradient, const struct node *node,
                              struct error *err) {
    const struct attribute axis = axis_of(node, 0);
    return scatter(gradient, node, OP_SCATTER_ELEMENTS, OP_GATHER_ELEMENTS, &axis, err);
}

int gradient_scatter_nd(struct gradient *gradient, const struct node *node, struct error *err) {
    return scatter(gradient, node, OP_SCATTER_ND, OP_GATHER_ND, NULL, err);
}

/* The product of the other elements: with one zero only that zero has a gradient, with two none. */
static int others(struct gradient *gradient, const struct node *node, int x, int axes) {
    const struct attribute to = {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    struct builder *builder = gradient_builder(gradient);
    int zero = builder_number(builder, 0), ones = builder_number(builder, 1);
    int is_zero = gradient_node(gradient, OP_EQUAL, V(x, zero));
    int filled = gradient_node(gradient, OP_WHERE, V(is_zero, ones, x));
    int mask = gradient_node_with(gradient, OP_CAST, V(is_zero), &to);
    int zeros = gradient_node(gradient, OP_REDUCE_SUM, V(mask, axes));
    size_t count;
    const int64_t *listed = node_integers(node, "axes", &count);
    const struct attribute over = {
        .name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = count, .integers = listed};
    const struct builder_new_node product = {.op = node->op,
                                             .name = node->name,
                                             .opset = node->opset,
                                             .inputs = V(filled, axes),
                                             .input_count = node->opset < 18 ? 1 : 2,
                                             .output_count = 1,
                                             .attribute_count = listed ? 1 : 0,
                                             .attributes = &over};
    int all = builder_node(builder, &product);
    int none = gradient_node(gradient, OP_EQUAL, V(zeros, zero));
    int single = gradient_node(gradient, OP_EQUAL, V(zeros, ones));
    int here = gradient_node(gradient, OP_WHERE, V(single, all, zero));
    int there = gradient_node(gradient, OP_DIV, V(all, filled));
    there = gradient_node(gradient, OP_WHERE, V(none, there, zero));
    return gradient_node(gradient, OP_WHERE, V(is_zero, here, there));
}

int gradient_reduce_prod(struct gradient *gradient, const struct node *node, struct error *err) {
    int x = node->inputs[0], axes = gradient_axes(gradient, node);
    if (node_integer(node, "noop_with_empty_axes", 0)) {
        return error_set(
            err, ERROR_UNSUPPORTED,
            "attribute \"noop_with_empty_axes\" is supported for inference, not for training");
    }
    int dy = gradient_of(gradient, node->outputs[0]);
    dy = gradient_with_axes(gradient, node, dy, axes);
    gradient_add(gradient, x,
                 gradient_node(gradient, OP_MUL, V(dy, others(gradient, node, x, axes))));
    return 0;
}

/* Of the image and of the grid, each by a node of its own. */
int gradient_grid_sample(struct gradient *gradient, const struct node *node,
                         struct error *err UNUSED) {
    static const char *const names[] = {"align_corners", "mode", "padding_mode"};
    struct attribute attributes[ARRAY_LEN(names) + 1];
    size_t count = 1;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct attribute *attribute = node_attribute(node, names[i]);
        if (attribute) {
            attributes[count++] = *attribute;
        }
    }
    for (int side = 0; side < 2; side++) {
        attributes[0] =
            (struct attribute){.name = "side", .kind = ATTRIBUTE_INTEGER, .integer = side};
        const struct builder_new_node made = {
            .op = op_of_id(OP_GRID_SAMPLE_GRADIENT),
            .name = node->name,
            .opset = node->opset,
            .inputs = V(gradient_of(gradient, node->outputs[0]), node->inputs[0], node->inputs[1]),
            .input_count = 3,
            .output_count = 1,
            .attribute_count = count,
            .attributes = attributes};
        if (gradient_wants(gradient, node->inputs[side])) {
            gradient_add(gradient, node->inputs[side],
                         builder_node(gradient_builder(gradient), &made));
        }
    }
    return 0;
}
