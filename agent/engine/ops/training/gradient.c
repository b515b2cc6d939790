// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/gradient_state.h"

enum { ATTRIBUTES_MAX = 16 };

int gradient_stops(struct gradient *gradient UNUSED, const struct node *node UNUSED,
                   struct error *err UNUSED) {
    return 0;
}

int gradient_refused(struct gradient *gradient UNUSED, const struct node *node, struct error *err) {
    return error_set(err, ERROR_UNSUPPORTED, "%s node \"%.64s\": this operator has no gradient",
                     node->op->name, node->name);
}

int gradient_decomposed(struct gradient *gradient, const struct node *node, struct error *err) {
    return gradient_refused(gradient, node, err);
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

static int append(struct gradient *gradient, const struct builder_new_node *plan,
                  const int *inputs) {
    struct builder_new_node node = *plan;
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
    const struct builder_new_node node = {.op = op_of_id(id),
                                          .name = name_of(gradient),
                                          .output_count = 1,
                                          .attribute_count = attribute ? 1 : 0,
                                          .attributes = attribute};
    return append(gradient, &node, inputs);
}

/* Of the file's operator: decomposition makes internal ones of some, with the same attributes. */
static const char *name_in_files(const struct op *op) {
    return op->id == OP_MAX_POOL_INDICES ? "MaxPool" : op->id == OP_PAD_WRAP ? "Pad" : op->name;
}

int gradient_node_of(struct gradient *gradient, enum op_id id, const int *inputs,
                     int output_count) {
    const struct node *forward = gradient->node;
    struct attribute attributes[ATTRIBUTES_MAX];
    size_t count = 0;
    attributes[count++] = (struct attribute){
        .name = "of", .kind = ATTRIBUTE_STRING, .text = name_in_files(forward->op)};
    /* An operator has at most ten attributes, and node_check refuses others. */
    for (size_t i = 0; i < forward->attribute_count && count < ATTRIBUTES_MAX; i++) {
        attributes[count++] = forward->attributes[i];
    }
    const struct builder_new_node node = {.op = op_of_id(id),
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
