// SPDX-License-Identifier: Apache-2.0
/* Types and numbers of dimensions of the values that the nodes so far make. Rules run before shapes
 * are known, and some operators mean different things for different ranks. */
#include "agent/engine/ops/rewrite/expand.h"

#include "agent/engine/ops/types.h"

#include <stdlib.h>

struct value_facts {
    enum tensor_type type;
    int rank; /* -1: not known */
};

static int rank_at(const struct expansion *expansion, const struct node *node, int input) {
    int value = expand_input(node, input);
    return value < 0 ? -1 : expansion->facts[value].rank;
}

static int greatest_rank(const struct expansion *expansion, const struct node *node) {
    int rank = -1;
    for (int i = 0; i < node->input_count; i++) {
        int next = rank_at(expansion, node, i);
        if (next < 0) {
            return -1;
        }
        rank = MAX(rank, next);
    }
    return rank;
}

/* The elements of a constant list; -1: it is not constant. */
static int64_t length_of(const struct expansion *expansion, const struct node *node, int input) {
    int index = expand_input(node, input);
    const struct value *value = index < 0 ? NULL : &expansion->builder.graph.values[index];
    return value && value->is_constant ? shape_count(&value->shape) : -1;
}

/* How many dimensions an operator with axes removes or adds: those of the attribute, or of input 1.
 */
static int64_t axis_count(const struct expansion *expansion, const struct node *node) {
    size_t count;
    return node_integers(node, "axes", &count) ? (int64_t)count : length_of(expansion, node, 1);
}

static int rank_with(int rank, int64_t more, int64_t count) {
    return rank < 0 || count < 0 || count > TENSOR_RANK_MAX || rank + more * count < 0
               ? -1
               : (int)(rank + more * count);
}

static int rank_of_reduction(const struct expansion *expansion, const struct node *node) {
    int rank = rank_at(expansion, node, 0);
    return node_integer(node, "keepdims", 1) ? rank
                                             : rank_with(rank, -1, axis_count(expansion, node));
}

static int rank_of_output(const struct expansion *expansion, const struct node *node) {
    int first = rank_at(expansion, node, 0), second = rank_at(expansion, node, 1);
    switch (node->op->id) {
    case OP_ADD:
    case OP_DIV:
    case OP_EQUAL:
    case OP_GREATER:
    case OP_LESS:
    case OP_MUL:
    case OP_SUB:
    case OP_WHERE:
        return greatest_rank(expansion, node);
    case OP_CAST:
    case OP_CLIP:
    case OP_CONCAT:
    case OP_CONV:
    case OP_DROPOUT:
    case OP_ERF:
    case OP_GELU:
    case OP_IDENTITY:
    case OP_LAYER_NORMALIZATION:
    case OP_NEG:
    case OP_NOT:
    case OP_RELU:
    case OP_SIGMOID:
    case OP_SLICE:
    case OP_SOFTMAX:
    case OP_SPLIT:
    case OP_TANH:
    case OP_TRANSPOSE:
        return first;
    case OP_GATHER:
        return rank_with(first < 1 ? -1 : first - 1, 1, second);
    case OP_GEMM:
        return 2;
    case OP_MATMUL:
        return MIN(first, second) < 2 ? -1 : MAX(first, second);
    case OP_REDUCE_MAX:
    case OP_REDUCE_MEAN:
    case OP_REDUCE_MIN:
    case OP_REDUCE_SUM:
        return rank_of_reduction(expansion, node);
    case OP_EXPAND:
    case OP_RESHAPE:
        return rank_with(0, 1, length_of(expansion, node, 1));
    case OP_SHAPE:
        return 1;
    case OP_SQUEEZE:
        return rank_with(first, -1, axis_count(expansion, node));
    case OP_UNSQUEEZE:
        return rank_with(first, 1, axis_count(expansion, node));
    default:
        return -1;
    }
}

static void infer_outputs(struct expansion *expansion, const struct node *node) {
    enum tensor_type inputs[NODE_PORTS_MAX];
    struct error err = {0};
    for (int i = 0; i < node->input_count; i++) {
        int value = node->inputs[i];
        inputs[i] = value < 0 ? TENSOR_FLOAT32 : expansion->facts[value].type;
    }
    int rank = rank_of_output(expansion, node);
    for (int i = 0; i < node->output_count; i++) {
        enum tensor_type type = TENSOR_FLOAT32;
        if (node->outputs[i] >= 0 && types_output(node, inputs, i, &type, &err) == 0) {
            expansion->facts[node->outputs[i]] = (struct value_facts){type, rank};
        }
    }
}

/* Each value and each node is looked at once. */
static const struct value_facts *facts_of(struct expansion *expansion, int value) {
    const struct graph *graph = &expansion->builder.graph;
    if (expansion->fact_room < graph->value_count) {
        expansion->fact_room = 2 * graph->value_count;
        expansion->facts =
            x_realloc_array(expansion->facts, expansion->fact_room, sizeof *expansion->facts);
    }
    for (; expansion->fact_count < graph->value_count; expansion->fact_count++) {
        const struct value *next = &graph->values[expansion->fact_count];
        bool is_known = next->is_input || next->is_constant;
        expansion->facts[expansion->fact_count] =
            (struct value_facts){is_known ? next->type : TENSOR_FLOAT32,
                                 is_known && next->has_shape ? next->shape.rank : -1};
    }
    for (; expansion->facts_of_nodes < graph->node_count; expansion->facts_of_nodes++) {
        infer_outputs(expansion, &graph->nodes[expansion->facts_of_nodes]);
    }
    return &expansion->facts[value];
}

enum tensor_type expand_type(struct expansion *expansion, int value) {
    return facts_of(expansion, value)->type;
}

int expand_rank(struct expansion *expansion, int value) {
    return facts_of(expansion, value)->rank;
}

void expand_facts_release(struct expansion *expansion) {
    free(expansion->facts);
    expansion->facts = NULL;
}
