// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/final_scores.h"

#include "agent/engine/ops/table.h"

#include <string.h>

/* Clip of probabilities so that their logarithms are finite: p.clamp(1e-7, 1 - 1e-7). */
static const double near_zero = 1e-3;

static enum training_ending scores_of(int id) {
    return id == OP_SOFTMAX       ? TRAINING_PROBABILITIES
           : id == OP_LOG_SOFTMAX ? TRAINING_LOG_PROBABILITIES
           : id == OP_SIGMOID     ? TRAINING_SIGMOIDS
                                  : TRAINING_LOGITS;
}

/* Exporters write Cast(Constant). */
static int constant_of(const struct graph *network, const int *makers, int value) {
    while (value >= 0 && makers[value] >= 0) {
        const struct node *node = &network->nodes[makers[value]];
        bool is_same = node->op->id == OP_CAST || node->op->id == OP_IDENTITY;
        value = is_same ? node->inputs[0] : -1;
    }
    return value >= 0 && network->values[value].is_constant ? value : -1;
}

struct walk {
    const struct graph *network;
    const int *makers;
};

/* Of Clip; unknown: a half, which is near neither end. */
static double bound_of(const struct walk *walk, const struct node *node, int input, double usual) {
    int value = input < node->input_count ? node->inputs[input] : -1;
    if (value < 0) {
        return (double)node_number(node, input == 1 ? "min" : "max", (float)usual);
    }
    int constant = constant_of(walk->network, walk->makers, value);
    const struct value *bound = constant < 0 ? NULL : &walk->network->values[constant];
    return bound && shape_count(&bound->shape) == 1 ? tensor_number(&bound->constant, 0) : 0.5;
}

static bool keeps_almost(const struct walk *walk, const struct node *node) {
    return bound_of(walk, node, 1, -1) <= near_zero && bound_of(walk, node, 2, 2) >= 1 - near_zero;
}

enum kind { KIND_OTHER, KIND_SAME, KIND_MOVES, KIND_MIXES };

/* What the node does with the numbers of its first input. */
static enum kind kind_of(const struct walk *walk, const struct node *node) {
    switch (node->op->id) {
    case OP_DROPOUT: /* of a probability: it would make an infinite loss */
    case OP_IDENTITY:
    case OP_ROUND_BFLOAT:
        return KIND_SAME;
    case OP_CAST:
        return node_integer(node, "to", 0) == 1 ? KIND_SAME : KIND_OTHER;
    case OP_CLIP:
        return keeps_almost(walk, node) ? KIND_SAME : KIND_MIXES;
    case OP_EXPAND:
    case OP_FLATTEN:
    case OP_GATHER:
    case OP_RESHAPE:
    case OP_SLICE:
    case OP_SQUEEZE:
    case OP_TILE:
    case OP_TRANSPOSE:
    case OP_UNSQUEEZE:
        return KIND_MOVES;
    case OP_AVERAGE_POOL:
    case OP_CONCAT:
    case OP_GLOBAL_AVERAGE_POOL:
    case OP_GLOBAL_MAX_POOL:
    case OP_MAX_POOL:
    case OP_PAD:
    case OP_REDUCE_MAX:
    case OP_REDUCE_MEAN:
    case OP_RESIZE:
    case OP_UPSAMPLE:
        return KIND_MIXES;
    default:
        return KIND_OTHER;
    }
}

void final_scores_find(const struct graph *network, const int *makers, int output,
                       struct final_scores *ret_scores) {
    const struct walk walk = {network, makers};
    struct final_scores ending = {.scores = TRAINING_LOGITS};
    for (int value = output; value >= 0 && makers[value] >= 0;) {
        const struct node *node = &network->nodes[makers[value]];
        enum kind kind = kind_of(&walk, node);
        if (scores_of(node->op->id) != TRAINING_LOGITS) {
            ending.scores = scores_of(node->op->id);
            ending.activation = node;
            break;
        }
        if (kind == KIND_OTHER || ending.move_count == FINAL_MOVES_MAX) {
            break;
        }
        if (kind == KIND_MOVES) {
            ending.moves[ending.move_count++] = node;
        }
        ending.combiner = kind == KIND_MIXES && !ending.combiner ? node : ending.combiner;
        value = node->inputs[0];
    }
    /* A mean of logarithms is a score as any other. */
    bool is_none =
        !ending.activation || (ending.combiner && ending.scores == TRAINING_LOG_PROBABILITIES);
    *ret_scores = is_none ? (struct final_scores){.scores = TRAINING_LOGITS} : ending;
}

int final_scores_logits(const struct final_scores *ending, struct builder *builder) {
    int value = ending->activation->inputs[0];
    for (size_t i = ending->move_count; i-- > 0;) {
        const struct node *move = ending->moves[i];
        int inputs[NODE_PORTS_MAX];
        memcpy(inputs, move->inputs, (size_t)move->input_count * sizeof *inputs);
        inputs[0] = value;
        const struct builder_new_node node = {.op = move->op,
                                              .name = move->name,
                                              .opset = move->opset,
                                              .inputs = inputs,
                                              .input_count = move->input_count,
                                              .output_count = 1,
                                              .attributes = move->attributes,
                                              .attribute_count = move->attribute_count};
        value = builder_node(builder, &node);
    }
    return value;
}

int final_scores_check(const struct final_scores *ending, enum training_loss loss,
                       const char *output, struct error *err) {
    bool has_classes = training_graph_has_classes(loss),
         is_binary = loss == TRAINING_BINARY_CROSS_ENTROPY;
    bool is_softmax = ending->scores == TRAINING_PROBABILITIES;
    if (is_binary && is_softmax) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "output \"%.64s\" is the result of Softmax node \"%.64s\", and "
                         "BinaryCrossEntropy is of numbers that do not depend on each other: take "
                         "CrossEntropy with a class for each sample, or export the network with a "
                         "Sigmoid, or with logits",
                         output, ending->activation->name);
    }
    bool matters =
        (has_classes && is_softmax) || (is_binary && ending->scores == TRAINING_SIGMOIDS);
    return !matters || !ending->combiner
               ? 0
               : error_set(err, ERROR_UNSUPPORTED,
                           "output \"%.64s\": %s node \"%.64s\" makes other numbers of the "
                           "probabilities of %s node \"%.64s\", and the loss is computed from what "
                           "is before these: export the network with the %s as its last operator, "
                           "or without it",
                           output, ending->combiner->op->name, ending->combiner->name,
                           ending->activation->op->name, ending->activation->name,
                           ending->activation->op->name);
}
