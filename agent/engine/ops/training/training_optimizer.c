// SPDX-License-Identifier: Apache-2.0
/* The graph of one optimizer step: an OptimizerStep node per parameter (engine/training.h). */
#include "agent/engine/training.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/infer/optimizer_step.h"
#include "agent/engine/ops/table.h"

enum { STATES_MAX = 2 };

static void add_step(struct builder *builder, enum optimizer_step_kind kind,
                     const struct optimizer_step *step, int numbers) {
    const struct shape shape = {1, {step->count}};
    int states = optimizer_step_states(kind);
    const struct attribute attributes[] = {
        {.name = "kind", .kind = ATTRIBUTE_INTEGER, .integer = kind},
        {.name = "decay", .kind = ATTRIBUTE_NUMBER, .number = step->decay},
        {.name = "decoupled_decay", .kind = ATTRIBUTE_NUMBER, .number = step->decoupled_decay},
        {.name = "factor", .kind = ATTRIBUTE_NUMBER, .number = step->factor},
        {.name = "trust", .kind = ATTRIBUTE_NUMBER, .number = step->trust}};
    int inputs[3 + STATES_MAX] = {[2] = numbers};
    for (int i = 0; i < 2 + states; i++) {
        inputs[i < 2 ? i : i + 1] = builder_input(builder, step->name, TENSOR_FLOAT32, &shape);
    }
    const struct builder_new_node node = {.op = op_of_id(OP_OPTIMIZER_STEP),
                                          .name = step->name,
                                          .input_count = 3 + states,
                                          .output_count = 1 + states,
                                          .inputs = inputs,
                                          .attribute_count = ARRAY_LEN(attributes),
                                          .attributes = attributes};
    int first = builder_node(builder, &node);
    for (int i = 0; i < node.output_count; i++) {
        builder_output(builder, first + i);
    }
}

static void take_one(struct builder *builder, enum op_id id, const int *inputs, int count,
                     struct graph *ret_graph) {
    const struct builder_new_node node = {
        .op = op_of_id(id), .input_count = count, .output_count = 1, .inputs = inputs};
    builder_output(builder, builder_node(builder, &node));
    builder_take(builder, ret_graph);
}

void training_optimizer_norm_graph(int64_t count, struct graph *ret_graph) {
    const struct shape shape = {1, {count}};
    struct builder builder;
    builder_init(&builder, NULL);
    const int x = builder_input(&builder, "gradients", TENSOR_FLOAT32, &shape);
    take_one(&builder, OP_GLOBAL_NORM, &x, 1, ret_graph);
}

void training_optimizer_sum_graph(int64_t count, struct graph *ret_graph) {
    const struct shape shape = {1, {count}};
    struct builder builder;
    builder_init(&builder, NULL);
    int inputs[2];
    inputs[0] = builder_input(&builder, "sum", TENSOR_FLOAT32, &shape);
    inputs[1] = builder_input(&builder, "gradients", TENSOR_FLOAT32, &shape);
    take_one(&builder, OP_ADD, inputs, 2, ret_graph);
}

void training_optimizer_graph(enum optimizer_step_kind kind, const struct optimizer_step *steps,
                              size_t count, struct graph *ret_graph) {
    const struct shape shape = {1, {OPTIMIZER_NUMBERS}};
    struct builder builder;
    builder_init(&builder, NULL);
    int numbers = builder_input(&builder, "numbers", TENSOR_FLOAT32, &shape);
    for (size_t i = 0; i < count; i++) {
        add_step(&builder, kind, &steps[i], numbers);
    }
    builder_take(&builder, ret_graph);
}
