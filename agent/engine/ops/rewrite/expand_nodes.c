// SPDX-License-Identifier: Apache-2.0
/* Makes the nodes that rules of expansion put in place of one. */
#include "agent/engine/ops/rewrite/expand.h"

#include "agent/engine/ops/table.h"

int expand_value(struct expansion *expansion, enum op_id id, const int *inputs, int output_count,
                 const struct attribute *attributes) {
    int count = 0, attribute_count = 0;
    while (inputs[count] != -2) {
        count++;
    }
    while (attributes && attributes[attribute_count].name) {
        attribute_count++;
    }
    const struct builder_new_node node = {.op = op_of_id(id),
                                          .name = expansion->node->name,
                                          .input_count = count,
                                          .output_count = output_count,
                                          .inputs = inputs,
                                          .attribute_count = (size_t)attribute_count,
                                          .attributes = attributes};
    return builder_node(&expansion->builder, &node);
}

int expand_binary(struct expansion *expansion, enum op_id id, int a, int b) {
    return expand_value(expansion, id, INPUTS(a, b), 1, NULL);
}

int expand_number(struct expansion *expansion, float number) {
    return builder_number(&expansion->builder, number);
}

int expand_integer(struct expansion *expansion, int64_t integer) {
    return builder_integers(&expansion->builder, &integer, 1);
}

int expand_typed(struct expansion *expansion, double number, enum tensor_type type) {
    uint64_t bits = 0;
    struct tensor one = {.type = type, .data = &bits};
    tensor_put_number(&one, 0, number);
    return builder_constant(&expansion->builder, &one);
}

int expand_cast(struct expansion *expansion, int value, enum tensor_type type) {
    const struct attribute to[] = {
        {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = tensor_type_onnx(type)},
        {.name = NULL}};
    return expand_value(expansion, OP_CAST, INPUTS(value), 1, to);
}

int expand_newer(struct expansion *expansion, const char *name, int opset, const int *inputs,
                 const struct attribute *attribute) {
    int count = 0;
    while (inputs[count] != -2) {
        count++;
    }
    const struct builder_new_node node = {.op = op_find(name, opset),
                                          .name = expansion->node->name,
                                          .opset = opset,
                                          .input_count = count,
                                          .output_count = 1,
                                          .inputs = inputs,
                                          .attribute_count = attribute ? 1 : 0,
                                          .attributes = attribute};
    return builder_node(&expansion->builder, &node);
}

int expand_input(const struct node *node, int index) {
    return index < node->input_count ? node->inputs[index] : -1;
}

const struct tensor *expand_constant(const struct expansion *expansion, int value) {
    const struct value *at = value < 0 ? NULL : &expansion->builder.graph.values[value];
    return at && at->is_constant ? &at->constant : NULL;
}

bool expand_gives(const struct node *node, int output) {
    return output < node->output_count && node->outputs[output] >= 0;
}

void expand_as(struct expansion *expansion, enum op_id id) {
    struct node node = *expansion->node;
    node.op = op_of_id(id);
    builder_append(&expansion->builder, &node);
}

void expand_give(struct expansion *expansion, int output, int value) {
    const struct node *node = expansion->node;
    struct graph *graph = &expansion->builder.graph;
    if (output >= node->output_count || node->outputs[output] < 0) {
        return;
    }
    int *ports = arena_array(&graph->arena, 2, sizeof *ports);
    ports[0] = value;
    ports[1] = node->outputs[output];
    const struct node same = {.op = op_of_id(OP_IDENTITY),
                              .name = node->name,
                              .opset = BUILDER_OPSET,
                              .input_count = 1,
                              .output_count = 1,
                              .inputs = &ports[0],
                              .outputs = &ports[1]};
    builder_append(&expansion->builder, &same);
}
