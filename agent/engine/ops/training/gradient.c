// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/gradient.h"

struct gradient {
    struct builder *builder;
    size_t value_count;      /* of the forward graph: what the walk is about */
    int *gradients;          /* by value; -1: none yet */
    bool *wanted;            /* depends on a variable */
    const struct node *node; /* the forward node of the moment */
};

enum { ATTRIBUTES_MAX = 16 };

int gradient_stops(struct gradient *gradient UNUSED, const struct node *node UNUSED,
                   struct error *err UNUSED) {
    return 0;
}

static bool is_number(const struct gradient *gradient, int value) {
    return value >= 0 && (size_t)value < gradient->value_count;
}

int gradient_of(const struct gradient *gradient, int value) {
    return is_number(gradient, value) ? gradient->gradients[value] : -1;
}

bool gradient_wants(const struct gradient *gradient, int value) {
    return is_number(gradient, value) && gradient->wanted[value];
}

struct builder *gradient_builder(struct gradient *gradient) {
    return gradient->builder;
}

static int append(struct gradient *gradient, const struct builder_node *plan, const int *inputs) {
    struct builder_node node = *plan;
    node.inputs = inputs;
    while (inputs[node.input_count] != -2) {
        node.input_count++;
    }
    return builder_node(gradient->builder, &node);
}

static const char *name_of(const struct gradient *gradient) {
    return gradient->node ? gradient->node->name : "loss";
}

int gradient_node(struct gradient *gradient, enum op_id id, const int *inputs) {
    return gradient_node_with(gradient, id, inputs, NULL);
}

int gradient_node_with(struct gradient *gradient, enum op_id id, const int *inputs,
                       const struct attribute *attribute) {
    const struct builder_node node = {.op = table_op(id),
                                      .name = name_of(gradient),
                                      .output_count = 1,
                                      .attribute_count = attribute ? 1 : 0,
                                      .attributes = attribute};
    return append(gradient, &node, inputs);
}

int gradient_node_of(struct gradient *gradient, enum op_id id, const int *inputs,
                     int output_count) {
    const struct node *forward = gradient->node;
    struct attribute attributes[ATTRIBUTES_MAX];
    size_t count = 0;
    attributes[count++] =
        (struct attribute){.name = "of", .kind = ATTRIBUTE_TEXT, .text = forward->op->name};
    /* An operator knows ten attributes at most, and node_check lets no other through. */
    for (size_t i = 0; i < forward->attribute_count && count < ATTRIBUTES_MAX; i++) {
        attributes[count++] = forward->attributes[i];
    }
    const struct builder_node node = {.op = table_op(id),
                                      .name = forward->name,
                                      .opset = forward->opset,
                                      .output_count = output_count,
                                      .attribute_count = count,
                                      .attributes = attributes};
    return append(gradient, &node, inputs);
}

int gradient_shape(struct gradient *gradient, int value) {
    return gradient_node(gradient, OP_SHAPE, V(value));
}

void gradient_add(struct gradient *gradient, int value, int contribution) {
    if (!gradient_wants(gradient, value)) {
        return;
    }
    int *sum = &gradient->gradients[value];
    *sum = *sum < 0 ? contribution : gradient_node(gradient, OP_ADD, V(*sum, contribution));
}

void gradient_add_summed(struct gradient *gradient, int value, int contribution) {
    if (gradient_wants(gradient, value)) {
        int shape = gradient_shape(gradient, value);
        gradient_add(gradient, value, gradient_node(gradient, OP_SUM_TO, V(contribution, shape)));
    }
}

/* What depends on a variable: but not through operators that nothing flows through. */
static void find_wanted(struct gradient *gradient, const int *variables, size_t count) {
    const struct graph *graph = &gradient->builder->graph;
    for (size_t i = 0; i < count; i++) {
        gradient->wanted[variables[i]] = true;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        bool depends = false;
        for (int i = 0; i < node->input_count; i++) {
            depends |= gradient_wants(gradient, node->inputs[i]);
        }
        depends = depends && gradient_rules[node->op->id] != gradient_stops;
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
    gradient_rule *rule = gradient_rules[node->op->id];
    gradient->node = node;
    if (!rule) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s node \"%.64s\": a gradient cannot go through this operator yet",
                         node->op->name, node->name);
    }
    return rule(gradient, node, err) < 0
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
