// SPDX-License-Identifier: Apache-2.0
/* Walks a graph backwards and applies each operator's rule. */
#include "agent/engine/ops/training/gradient_state.h"

static bool is_cast_to_float(const struct node *node, enum tensor_type *ret_type) {
    return node->op->id == OP_CAST &&
           tensor_type_from_onnx(node_integer(node, "to", 0), ret_type) &&
           tensor_type_is_real(*ret_type);
}

bool gradient_leaves_float32(const struct node *node, enum tensor_type *ret_type) {
    return is_cast_to_float(node, ret_type) && *ret_type != TENSOR_FLOAT32;
}

/* Which axes are normalized depends on the rank; decompose.c turns the axis where that is known. */
static bool counts_from_start(const struct node *node) {
    return node->op->id == OP_LAYER_NORMALIZATION && node_integer(node, "axis", -1) >= 0;
}

bool gradient_has_rule(const struct node *node) {
    gradient_rule *rule = gradient_rules[node->op->id];
    enum tensor_type type;
    return rule && rule != gradient_refused && rule != gradient_decomposed &&
           !gradient_leaves_float32(node, &type) && !counts_from_start(node);
}

bool gradient_is_setting(const struct node *node, int input) {
    switch (node->op->id) {
    case OP_BATCH_NORMALIZATION:
        return input > 2;
    case OP_CLIP:
    case OP_DROPOUT:
    case OP_RESIZE:
    case OP_UPSAMPLE:
        return input > 0;
    case OP_PAD:
    case OP_ONE_HOT:
        return input == 2;
    default:
        return node->op->flags & OP_FROM_SHAPE;
    }
}

/* A cast to whole numbers has the derivative 0. */
bool gradient_carries(const struct node *node, int input) {
    enum tensor_type type;
    bool rounds = node->op->id == OP_CAST && !is_cast_to_float(node, &type);
    return gradient_rules[node->op->id] != gradient_stops && !rounds &&
           !gradient_is_setting(node, input);
}

/* Marks values that depend on a variable, except through operators without gradients. */
static void find_wanted(struct gradient *gradient, const int *variables, size_t count) {
    const struct graph *graph = &gradient->builder->graph;
    for (size_t i = 0; i < count; i++) {
        gradient->wanted[variables[i]] = true;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        bool depends = false;
        for (int i = 0; i < node->input_count; i++) {
            depends |= gradient_wants(gradient, node->inputs[i]) && gradient_carries(node, i);
        }
        for (int i = 0; depends && i < node->output_count; i++) {
            if (node->outputs[i] >= 0) {
                gradient->wanted[node->outputs[i]] = true;
            }
        }
    }
}

static int pass_node(struct gradient *gradient, const struct node *node, struct error *err) {
    bool has_gradient = false, wants = false;
    for (int i = 0; i < node->output_count; i++) {
        has_gradient |= gradient_of(gradient, node->outputs[i]) >= 0;
    }
    for (int i = 0; i < node->input_count; i++) {
        wants |= gradient_wants(gradient, node->inputs[i]);
    }
    if (!has_gradient || !wants) {
        return 0;
    }
    gradient->node = node;
    if (!gradient_has_rule(node)) {
        return gradient_refused(gradient, node, err);
    }
    return gradient_rules[node->op->id](gradient, node, err) < 0
               ? error_context(err, "the gradient of %s node \"%.64s\"", node->op->name, node->name)
               : 0;
}

int gradient_build(struct builder *builder, int loss, const int *variables, size_t count,
                   int *ret_gradients, struct error *err) {
    struct arena scratch = {0};
    size_t values = builder->graph.value_count, nodes = builder->graph.node_count;
    struct gradient gradient = {builder, values, NULL, NULL, NULL};
    gradient.gradients = arena_array(&scratch, values, sizeof *gradient.gradients);
    gradient.wanted = arena_array(&scratch, values, sizeof *gradient.wanted);
    for (size_t i = 0; i < values; i++) {
        gradient.gradients[i] = -1;
    }
    find_wanted(&gradient, variables, count);
    int result = 0;
    if (gradient.wanted[loss]) {
        gradient.gradients[loss] = builder_number(builder, 1);
    }
    for (size_t n = nodes; result == 0 && n-- > 0;) {
        struct node node = builder->graph.nodes[n]; /* the array may move */
        result = pass_node(&gradient, &node, err);
    }
    for (size_t i = 0; result == 0 && i < count; i++) {
        ret_gradients[i] = gradient.gradients[variables[i]];
    }
    arena_release(&scratch);
    return result;
}
