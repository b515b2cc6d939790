// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/expand.h"

#include "agent/engine/ops/table.h"

struct expansion {
    struct builder builder;
    const struct node *node;
};

/* By operator. A rule that declines returns 0 and sets nothing; the node stays then. */
static expand_rule *const rules[OP_COUNT] = {
    [OP_BATCH_NORMALIZATION] = expand_batch_normalization,
    [OP_CONV_INTEGER] = expand_conv_integer,
    [OP_DYNAMIC_QUANTIZE] = expand_dynamic_quantize,
    [OP_MATMUL_INTEGER] = expand_matmul_integer,
    [OP_MAX_POOL] = expand_max_pool,
    [OP_MEAN_VARIANCE_NORMALIZATION] = expand_mean_variance,
    [OP_OLD_BINARY] = expand_old_binary,
    [OP_PAD] = expand_pad,
    [OP_QLINEAR_CONV] = expand_qlinear_conv,
    [OP_QLINEAR_MATMUL] = expand_qlinear_matmul,
};

int expand_value(struct expansion *expansion, enum op_id id, const int *inputs, int output_count,
                 const struct attribute *attributes) {
    int count = 0, attribute_count = 0;
    while (inputs[count] != -2) {
        count++;
    }
    while (attributes && attributes[attribute_count].name) {
        attribute_count++;
    }
    const struct builder_node node = {.op = table_op(id),
                                      .name = expansion->node->name,
                                      .input_count = count,
                                      .output_count = output_count,
                                      .inputs = inputs,
                                      .attribute_count = (size_t)attribute_count,
                                      .attributes = attributes};
    return builder_node(&expansion->builder, &node);
}

int expand_number(struct expansion *expansion, float number) {
    return builder_number(&expansion->builder, number);
}

void expand_as(struct expansion *expansion, enum op_id id) {
    struct node node = *expansion->node;
    node.op = table_op(id);
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
    const struct node same = {.op = table_op(OP_IDENTITY),
                              .name = node->name,
                              .opset = BUILDER_OPSET,
                              .input_count = 1,
                              .output_count = 1,
                              .inputs = &ports[0],
                              .outputs = &ports[1]};
    builder_append(&expansion->builder, &same);
}

int expand(const struct graph *from, struct graph *ret_graph, struct error *err) {
    struct expansion expansion = {0};
    builder_init(&expansion.builder, from);
    builder_clear_nodes(&expansion.builder);
    for (size_t i = 0; i < from->node_count; i++) {
        const struct node *node = &from->nodes[i];
        expand_rule *rule = rules[node->op->id];
        bool is_done = false;
        expansion.node = node;
        if (rule && rule(&expansion, node, &is_done, err) < 0) {
            builder_release(&expansion.builder);
            return error_context(err, "%s node \"%.64s\"", node->op->name, node->name);
        }
        if (!is_done) {
            builder_append(&expansion.builder, node);
        }
    }
    builder_take(&expansion.builder, ret_graph);
    return 0;
}
