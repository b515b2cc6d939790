// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/sync_norm.h"

#include "agent/engine/ops/table.h"

struct formula {
    struct builder *builder;
    const struct node *norm; /* NormTraining */
    int share;
};

static int add(const struct formula *formula, enum op_id id, const int *inputs, int count) {
    const struct builder_new_node node = {.op = op_of_id(id),
                                          .name = formula->norm->name,
                                          .input_count = count,
                                          .output_count = 1,
                                          .inputs = inputs};
    return builder_node(formula->builder, &node);
}

static int add_two(const struct formula *formula, enum op_id id, int left, int right) {
    return add(formula, id, (const int[]){left, right}, 2);
}

/* With the node's own output instead of a new value. */
static void add_last(const struct formula *formula, enum op_id id, int left, int right, int which) {
    struct arena *arena = &formula->builder->graph.arena;
    int *inputs = arena_array(arena, 2, sizeof *inputs);
    int *output = arena_array(arena, 1, sizeof *output);
    inputs[0] = left;
    inputs[1] = right;
    *output = formula->norm->outputs[which];
    const struct node node = {.op = op_of_id(id),
                              .name = formula->norm->name,
                              .opset = BUILDER_OPSET,
                              .input_count = 2,
                              .output_count = 1,
                              .inputs = inputs,
                              .outputs = output};
    builder_append(formula->builder, &node);
}

static int reshape(const struct formula *formula, int value, const int64_t *dims, int count) {
    return add_two(formula, OP_RESHAPE, value, builder_integers(formula->builder, dims, count));
}

/* [n, c, places] -> [1, c, 1]: the mean over all ranks. */
static int add_mean(const struct formula *formula, int value) {
    static const int64_t last = 2, first = 0;
    struct attribute *axes = arena_array(&formula->builder->graph.arena, 1, sizeof *axes);
    *axes = (struct attribute){
        .name = "axes", .kind = ATTRIBUTE_INTEGERS, .integers = &last, .count = 1};
    const struct builder_new_node node = {.op = op_of_id(OP_REDUCE_MEAN),
                                          .name = formula->norm->name,
                                          .input_count = 1,
                                          .output_count = 1,
                                          .inputs = &value,
                                          .attribute_count = 1,
                                          .attributes = axes};
    int places = builder_node(formula->builder, &node);
    int own =
        add_two(formula, OP_REDUCE_SUM, places, builder_integers(formula->builder, &first, 1));
    return add_two(formula, OP_MUL, add(formula, OP_RANK_SUM, &own, 1), formula->share);
}

static void expand(const struct formula *formula) {
    static const int64_t flat[] = {0, 0, -1}, channels[] = {1, -1, 1}, all = -1;
    const struct node *norm = formula->norm;
    struct builder *builder = formula->builder;
    int x = norm->inputs[0], list = builder_integers(builder, &all, 1);
    int x3 = reshape(formula, x, flat, 3);
    int mean = add_mean(formula, x3);
    int deviation = add_two(formula, OP_SUB, x3, mean);
    int variance = add_mean(formula, add_two(formula, OP_MUL, deviation, deviation));
    int epsilon = builder_number(builder, node_number(norm, "epsilon", 1e-5f));
    int shifted = add_two(formula, OP_ADD, variance, epsilon);
    int normal = add_two(formula, OP_DIV, deviation, add(formula, OP_SQRT, &shifted, 1));
    int scaled = add_two(formula, OP_MUL, normal, reshape(formula, norm->inputs[1], channels, 3));
    int y = add_two(formula, OP_ADD, scaled, reshape(formula, norm->inputs[2], channels, 3));
    add_last(formula, OP_RESHAPE, y, add(formula, OP_SHAPE, &x, 1), 0);
    add_last(formula, OP_RESHAPE, mean, list, 1);
    add_last(formula, OP_RESHAPE, variance, list, 2);
}

int sync_norms(struct builder *builder) {
    const struct shape one = {0};
    size_t count = builder->graph.node_count;
    int share = builder_input(builder, "share", TENSOR_FLOAT32, &one);
    struct node *nodes = arena_array(&builder->graph.arena, count, sizeof *nodes);
    builder->graph.input_count--; /* inputs are ordered later */
    for (size_t i = 0; i < count; i++) {
        nodes[i] = builder->graph.nodes[i];
    }
    builder_clear_nodes(builder);
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].op->id == OP_NORM_TRAINING) {
            const struct formula formula = {builder, &nodes[i], share};
            expand(&formula);
        } else {
            builder_append(builder, &nodes[i]);
        }
    }
    return share;
}
