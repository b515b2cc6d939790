// SPDX-License-Identifier: Apache-2.0
/* PyTorch's exporter writes parameters with equal elements once, and the others as Identity of it:
 * all biases that begin with zeros are one tensor, which is also a running mean. Random weights are
 * equal only if the program ties them. */
#include "agent/engine/ops/training/aliases.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/op_id.h"

#include <string.h>

static bool is_uniform(const struct value *value) {
    const float *numbers = value->constant.data;
    int64_t count = shape_count(&value->shape);
    for (int64_t i = 1; i < count; i++) {
        if (!(numbers[i] == numbers[0])) {
            return false;
        }
    }
    return true;
}

/* An output without a name has no value. */
static bool is_alias(const struct node *node) {
    return node->op->id == OP_IDENTITY && node->inputs[0] >= 0 && node->outputs[0] >= 0;
}

static bool *find_statistics(const struct graph *network, struct arena *scratch) {
    bool *statistics = arena_array(scratch, network->value_count, sizeof *statistics);
    for (size_t n = network->node_count; n-- > 0;) {
        const struct node *node = &network->nodes[n];
        for (int i = 3; node->op->id == OP_BATCH_NORMALIZATION && i < 5; i++) {
            statistics[node->inputs[i]] = true;
        }
        if (is_alias(node) && statistics[node->outputs[0]]) {
            statistics[node->inputs[0]] = true; /* an Identity of an Identity */
        }
    }
    return statistics;
}

static void own(struct builder *builder, int from, int to) {
    const struct value *source = &builder->graph.values[from];
    struct value *value = &builder->graph.values[to];
    size_t size = (size_t)shape_count(&source->shape) * sizeof(float);
    value->type = source->type;
    value->shape = source->shape;
    value->has_shape = value->is_constant = true;
    value->is_literal = source->is_literal;
    value->constant = source->constant;
    value->constant.data = arena_alloc(&builder->graph.arena, size);
    memcpy(value->constant.data, source->constant.data, size);
}

void aliases_resolve(const struct graph *network, struct graph *ret_graph) {
    struct arena scratch = {0};
    struct builder builder;
    bool *statistics = find_statistics(network, &scratch);
    builder_init(&builder, network);
    builder_clear_nodes(&builder);
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        const struct value *source = is_alias(node) ? &builder.graph.values[node->inputs[0]] : NULL;
        bool is_shared =
            source && source->is_constant && source->type == TENSOR_FLOAT32 &&
            (statistics[node->outputs[0]] || statistics[node->inputs[0]] || is_uniform(source));
        if (is_shared) {
            own(&builder, node->inputs[0], node->outputs[0]);
        } else {
            builder_append(&builder, node);
        }
    }
    builder_take(&builder, ret_graph);
    arena_release(&scratch);
}
