// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/bfloat.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/ops/types.h"

#include <stdlib.h>

struct rounding {
    const struct graph *network;
    struct builder builder;
    enum tensor_type *types; /* by value of the network */
    int *rounded;            /* the same value, rounded; -1: none (yet) */
    bool *flows;             /* it depends on the network's input */
};

static int mark(struct rounding *rounding, const struct node *node, int value) {
    if (rounding->rounded[value] < 0) {
        const struct builder_new_node round = {.op = op_of_id(OP_ROUND_BFLOAT),
                                               .name = node->name,
                                               .input_count = 1,
                                               .output_count = 1,
                                               .inputs = &value};
        rounding->rounded[value] = builder_node(&rounding->builder, &round);
    }
    return rounding->rounded[value];
}

static bool is_product(const struct node *node) {
    int id = node->op->id;
    return id == OP_CONV || id == OP_CONV_TRANSPOSE || id == OP_GEMM || id == OP_MATMUL;
}

/* The value that the node reads in place of an input: the rounded one, if the input flows and has
 * one. */
static int read_input(struct rounding *rounding, const struct node *node, int input) {
    int value = node->inputs[input];
    if (value < 0 || rounding->types[value] != TENSOR_FLOAT32) {
        return value;
    }
    if (is_product(node) && input < 2) {
        return mark(rounding, node, value);
    }
    return rounding->flows[value] && rounding->rounded[value] >= 0 ? rounding->rounded[value]
                                                                   : value;
}

static bool is_output(const struct graph *network, int value) {
    bool found = false;
    for (size_t i = 0; i < network->output_count; i++) {
        found |= network->outputs[i] == value;
    }
    return found;
}

/* A view of a rounded value is rounded. Exceptions are Dropout, which multiplies in a training, and
 * views of values that do not flow: they read the weight itself, and products make rounded copies
 * of it. */
static bool is_rounded_view(const struct rounding *rounding, const struct node *node) {
    return (node->op->flags & OP_VIEW) && node->op->id != OP_DROPOUT &&
           rounding->flows[node->inputs[0]] && rounding->rounded[node->inputs[0]] >= 0;
}

/* Sets the type of a node's outputs, whether they flow, and appends their marks. */
static int mark_outputs(struct rounding *rounding, const struct node *node, struct error *err) {
    enum tensor_type *inputs = x_calloc((size_t)node->input_count + 1, sizeof *inputs);
    bool flows = false;
    int result = 0;
    for (int i = 0; i < node->input_count; i++) {
        int value = node->inputs[i];
        inputs[i] = value < 0 ? TENSOR_FLOAT32 : rounding->types[value];
        flows |= value >= 0 && rounding->flows[value];
    }
    for (int i = 0; result == 0 && i < node->output_count; i++) {
        int value = node->outputs[i];
        if (value < 0) {
            continue;
        }
        result = types_output(node, inputs, i, &rounding->types[value], err);
        rounding->flows[value] = flows && !(node->op->flags & OP_FROM_SHAPE);
        if (is_rounded_view(rounding, node)) {
            rounding->rounded[value] = value;
        } else if (result == 0 && rounding->flows[value] &&
                   rounding->types[value] == TENSOR_FLOAT32 &&
                   !is_output(rounding->network, value)) {
            mark(rounding, node, value);
        }
    }
    free(inputs);
    return result;
}

static int add_node(struct rounding *rounding, const struct node *node, struct error *err) {
    struct node copy = *node;
    int *inputs =
        arena_array(&rounding->builder.graph.arena, (size_t)node->input_count, sizeof *inputs);
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = read_input(rounding, node, i);
    }
    copy.inputs = inputs;
    builder_append(&rounding->builder, &copy);
    return mark_outputs(rounding, node, err);
}

int bfloat_graph(const struct graph *network, struct graph *ret_graph, struct error *err) {
    struct rounding rounding = {.network = network};
    size_t count = network->value_count;
    rounding.types = x_calloc(count + 1, sizeof *rounding.types);
    rounding.rounded = x_calloc(count + 1, sizeof *rounding.rounded);
    rounding.flows = x_calloc(count + 1, sizeof *rounding.flows);
    for (size_t i = 0; i < count; i++) {
        rounding.types[i] = network->values[i].type;
        rounding.rounded[i] = -1;
        rounding.flows[i] = network->values[i].is_input;
    }
    builder_init(&rounding.builder, network);
    builder_clear_nodes(&rounding.builder);
    int result = 0;
    for (size_t n = 0; result == 0 && n < network->node_count; n++) {
        result = add_node(&rounding, &network->nodes[n], err);
    }
    if (result == 0) {
        builder_take(&rounding.builder, ret_graph);
    }
    builder_release(&rounding.builder);
    free(rounding.types);
    free(rounding.rounded);
    free(rounding.flows);
    return result;
}
