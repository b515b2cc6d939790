// SPDX-License-Identifier: Apache-2.0
/* PyTorch's exporter writes parameters with equal elements once, and the others as Identity of it:
 * all biases that begin with zeros are one tensor, which is also a running mean. Random weights are
 * equal only if the program ties them. */
#include "agent/engine/ops/training/aliases.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/ops/training/exporter_constant.h"

#include <string.h>

/* Made by a rule and not drawn: zeros, ones, an identity matrix. Such tensors are equal by chance:
 * they hold one number, or more than two elements of only two different numbers. */
static bool is_plain(const struct value *value) {
    const float *numbers = value->constant.data;
    int64_t count = shape_count(&value->shape), other = 0;
    for (int64_t i = 1; i < count; i++) {
        bool is_first = numbers[i] == numbers[0];
        other = !is_first && other == 0 ? i : other;
        if (!is_first && numbers[i] != numbers[other]) {
            return false;
        }
    }
    return other == 0 || count > 2;
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

/* ---- what the exporter has computed --------------------------------------------------------- */

void aliases_note(struct arena *arena, struct forms_list *list, const char *name) {
    bool is_full = (list->count & (list->count - 1)) == 0; /* at 0, 1, 2, 4, 8, ... */
    if (is_full) {
        const char **names = arena_array(arena, MAX(2 * list->count, 1), sizeof *names);
        for (size_t i = 0; i < list->count; i++) {
            names[i] = list->names[i];
        }
        list->names = names;
    }
    list->names[list->count++] = name;
}

static bool is_computed(const struct value *value) {
    return value->is_constant && value->type == TENSOR_FLOAT32 && !value->is_literal &&
           value->name && exporter_constant_has_name(value->name) &&
           (shape_count(&value->shape) > 1 || exporter_constant_is_folded(value->name));
}

static bool is_numbered(const struct graph *network, int value) {
    const char *name = value < 0 ? NULL : network->values[value].name;
    return name && exporter_constant_is_folded(name);
}

/* PyTorch's exporter writes the weight of a Gemm or of a convolution as it is. One that it numbers
 * is a formula, unless the bias is numbered, too, because a norm was folded into both. */
static bool is_formula(const struct graph *network, const struct node *node, int input) {
    bool is_folded =
        node->op->id != OP_GEMM && node->input_count > 2 && is_numbered(network, node->inputs[2]);
    return is_numbered(network, node->inputs[input]) && !is_folded;
}

/* Where it reads weights that are only transposed or joined, or which a norm was folded into. */
static bool reads_weight(const struct graph *network, const struct node *node, int input) {
    switch (node->op->id) {
    case OP_MATMUL:
        return true;
    case OP_GEMM:
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
        return input > 0 && !is_formula(network, node, input);
    case OP_GRU:
    case OP_LSTM:
    case OP_RNN:
        return input > 0;
    default:
        return false;
    }
}

/* Of nodes that compute: an Identity is noted where it is resolved. */
static int direct_reads(const struct graph *network, int value) {
    int count = 0;
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        for (int i = 0; !is_alias(node) && i < node->input_count; i++) {
            count += node->inputs[i] == value;
        }
    }
    return count;
}

/* made: its values are without those that are tied again. */
static void note_computed(const struct graph *network, struct graph *made, const int *reads,
                          struct forms *forms) {
    const struct value *values = made->values;
    struct arena *arena = &made->arena;
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        for (int i = 0; i < node->input_count; i++) {
            int input = node->inputs[i];
            if (input >= 0 && is_computed(&values[input]) && reads[input] == 1 &&
                !reads_weight(network, node, i) &&
                !exporter_constant_fills_norm(network, node, i)) {
                aliases_note(arena, &forms->computed, values[input].name);
            }
        }
    }
    for (size_t v = 0; v < network->value_count; v++) {
        bool is_shared =
            reads[v] > 1 && is_computed(&values[v]) && direct_reads(network, (int)v) > 1;
        bool is_one = is_shared && shape_count(&values[v].shape) == 1;
        if (is_one || (is_shared && !is_plain(&values[v]))) {
            aliases_note(arena, is_one ? &forms->computed : &forms->tied, values[v].name);
        }
    }
}

static int *count_reads(const struct graph *network, struct arena *scratch) {
    int *reads = arena_array(scratch, network->value_count, sizeof *reads);
    for (size_t n = 0; n < network->node_count; n++) {
        for (int i = 0; i < network->nodes[n].input_count; i++) {
            if (network->nodes[n].inputs[i] >= 0) {
                reads[network->nodes[n].inputs[i]]++;
            }
        }
    }
    return reads;
}

static bool is_transposed(const struct value *a, const struct value *b) {
    const float *from = a->constant.data, *to = b->constant.data;
    int64_t rows = a->shape.rank == 2 ? a->shape.dims[0] : 0, columns = a->shape.dims[1];
    if (b->shape.rank != 2 || rows < 1 || b->shape.dims[0] != columns || b->shape.dims[1] != rows) {
        return false;
    }
    for (int64_t i = 0; i < rows * columns; i++) {
        if (from[i] != to[i % columns * rows + i / columns]) {
            return false;
        }
    }
    return true;
}

/* The weight of which the constant is the transposed one; -1: none. */
static int find_source(const struct graph *network, const int *reads, int constant) {
    const struct value *value = &network->values[constant];
    for (size_t v = 0; v < network->value_count; v++) {
        const struct value *other = &network->values[v];
        if (reads[v] && other->is_constant && other->type == TENSOR_FLOAT32 &&
            !is_computed(other) && is_transposed(other, value)) {
            return (int)v;
        }
    }
    return -1;
}

static void tie(struct builder *builder, const struct node *before, int source, int constant) {
    static const int64_t turned[] = {1, 0};
    struct arena *arena = &builder->graph.arena;
    struct value *value = &builder->graph.values[constant];
    struct attribute *order = arena_array(arena, 1, sizeof *order);
    int *ends = arena_array(arena, 2, sizeof *ends);
    *order = (struct attribute){
        .name = "perm", .kind = ATTRIBUTE_INTEGERS, .integers = turned, .count = 2};
    ends[0] = source;
    ends[1] = constant;
    value->is_constant = false;
    value->constant = (struct tensor){.data = NULL};
    const struct node node = {.op = op_of_id(OP_TRANSPOSE),
                              .name = value->name,
                              .opset = before->opset,
                              .input_count = 1,
                              .inputs = ends,
                              .output_count = 1,
                              .outputs = ends + 1,
                              .attribute_count = 1,
                              .attributes = order};
    builder_append(builder, &node);
}

/* Constant folding has torn tied weights apart. */
static void tie_again(struct builder *builder, const struct graph *network, const int *reads,
                      struct forms *forms) {
    for (size_t v = 0; v < network->value_count; v++) {
        const struct value *value = &network->values[v];
        /* A symmetric matrix does not show whether it was transposed. */
        bool may_tie = is_computed(value) && value->shape.rank == 2 && !is_plain(value) &&
                       !is_transposed(value, value);
        int source = may_tie ? find_source(network, reads, (int)v) : -1;
        if (source >= 0) {
            tie(builder, &network->nodes[0], source, (int)v);
            aliases_note(&builder->graph.arena, &forms->tied, network->values[source].name);
        }
    }
}

void aliases_resolve(const struct graph *network, struct forms *forms, struct graph *ret_graph) {
    struct arena scratch = {0};
    struct builder builder;
    bool *statistics = find_statistics(network, &scratch);
    const int *reads = count_reads(network, &scratch);
    builder_init(&builder, network);
    builder_clear_nodes(&builder);
    tie_again(&builder, network, reads, forms);
    note_computed(network, &builder.graph, reads, forms);
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        const struct value *source = is_alias(node) ? &builder.graph.values[node->inputs[0]] : NULL;
        bool is_shared =
            source && source->is_constant && source->type == TENSOR_FLOAT32 &&
            (statistics[node->outputs[0]] || statistics[node->inputs[0]] || is_plain(source));
        if (is_shared) {
            own(&builder, node->inputs[0], node->outputs[0]);
        } else {
            if (source && source->is_constant && source->type == TENSOR_FLOAT32) {
                aliases_note(&builder.graph.arena, &forms->tied,
                             network->values[node->outputs[0]].name);
            }
            builder_append(&builder, node);
        }
    }
    builder_take(&builder, ret_graph);
    arena_release(&scratch);
}
