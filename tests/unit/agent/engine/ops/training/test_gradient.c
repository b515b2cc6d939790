// SPDX-License-Identifier: Apache-2.0
/* The walk over the graph; tests/conformance/test_gradient.c tests each operator's rule. */
#include "agent/engine/ops/training/gradient.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/infer/recurrent.h"
#include "agent/engine/run/execution_plan.h"
#include "tests/conformance/attributes.h"
#include "tests/test.h"

#include <stdlib.h>

static int add(struct builder *builder, enum op_id id, const int *inputs) {
    struct builder_new_node node = {
        .op = op_of_id(id), .name = "made", .inputs = inputs, .output_count = 1};
    while (inputs[node.input_count] != -2) {
        node.input_count++;
    }
    return builder_node(builder, &node);
}

static int input(struct builder *builder, const char *name) {
    const struct shape shape = {1, {3}};
    return builder_input(builder, name, TENSOR_FLOAT32, &shape);
}

/* Runs the graph on inputs that all hold `numbers`; output 0 (of at most 3) is copied. */
static void run(struct graph *graph, const float *numbers, float *ret_output) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[4], output;
    void *block = NULL;
    for (size_t i = 0; i < graph->input_count; i++) {
        inputs[i] = (struct tensor){
            .shape = {1, {3}}, .data = (void *)(uintptr_t)numbers, .type = TENSOR_FLOAT32};
    }
    CHECK_OK(device_open("reference", 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, graph, inputs, &plan, &err), &err);
    CHECK_OK(device->ops->alloc(device, plan->schedule->block_bytes, &block, &err), &err);
    CHECK_OK(execution_plan_run(plan, block, inputs, &output, NULL, &err), &err);
    CHECK_INT(shape_count(&output.shape), 3);
    memcpy(ret_output, output.data, 3 * sizeof *ret_output);
    execution_plan_free(plan);
    device->ops->free(device, block);
    device_close(device);
}

/* x + x * x, read three times: 1 + 2 x. A value that does not depend on x has no gradient. */
static void test_sums_what_is_read_twice(void) {
    struct builder builder;
    struct graph graph;
    struct error err = {0};
    builder_init(&builder, NULL);
    int x = input(&builder, "x"), other = input(&builder, "other"), gradients[2];
    int sum = add(&builder, OP_ADD, V(x, add(&builder, OP_MUL, V(x, x))));
    int loss = add(&builder, OP_REDUCE_SUM, V(sum));
    add(&builder, OP_EXP, V(other));
    CHECK_OK(gradient_build(&builder, loss, (int[]){x, other}, 2, gradients, &err), &err);
    CHECK(gradients[0] >= 0);
    CHECK_INT(gradients[1], -1);
    builder_output(&builder, gradients[0]);
    builder_take(&builder, &graph);
    float seen[3];
    run(&graph, (const float[]){1, -2, 0.5f}, seen);
    CHECK(seen[0] == 3 && seen[1] == -3 && seen[2] == 2);
    graph_release(&graph);
}

/* A variable in the middle: it gets its gradient, and the walk also passes through it. */
static void test_value_that_a_node_makes(void) {
    struct builder builder;
    struct graph graph;
    struct error err = {0};
    builder_init(&builder, NULL);
    int x = input(&builder, "x"), gradient;
    int square = add(&builder, OP_MUL, V(x, x));
    int loss = add(&builder, OP_REDUCE_SUM, V(add(&builder, OP_MUL, V(square, square))));
    CHECK_OK(gradient_build(&builder, loss, &square, 1, &gradient, &err), &err);
    builder_output(&builder, gradient);
    builder_take(&builder, &graph);
    float seen[3];
    run(&graph, (const float[]){1, 2, 3}, seen);
    CHECK(seen[0] == 2 && seen[1] == 8 && seen[2] == 18);
    graph_release(&graph);
}

/* Floor has no gradient; an operator without a rule is an error. */
static void test_stops_and_refusals(void) {
    struct builder builder;
    struct error err = {0};
    builder_init(&builder, NULL);
    int x = input(&builder, "x"), gradient;
    int loss = add(&builder, OP_REDUCE_SUM, V(add(&builder, OP_FLOOR, V(x))));
    CHECK_OK(gradient_build(&builder, loss, &x, 1, &gradient, &err), &err);
    CHECK_INT(gradient, -1);
    const struct attribute of[] = {TXT("of", "Relu")};
    const struct builder_new_node node = {.op = op_of_id(OP_UNARY_GRADIENT),
                                          .name = "second",
                                          .inputs = (int[]){x, x},
                                          .input_count = 2,
                                          .output_count = 1,
                                          .attributes = of,
                                          .attribute_count = 1};
    loss = add(&builder, OP_REDUCE_SUM, V(builder_node(&builder, &node)));
    CHECK_INT(gradient_build(&builder, loss, &x, 1, &gradient, &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
    CHECK_STR(err.text, "UnaryGradient node \"second\": this operator has no gradient");
    builder_release(&builder);
}

/* A file may not name internal operators. */
static void test_internal_operators_are_no_ones(void) {
    for (int opset = -1; opset < 25; opset++) {
        CHECK(op_find("SumTo", opset) == NULL || opset == 0);
    }
    CHECK(op_of_id(OP_SUM_TO) != NULL && op_of_id(OP_ADD) != NULL);
    CHECK(op_of_id(OP_UPSAMPLE) == NULL); /* opset 13 does not have it */
}

/* A stranger's sequences must not take the machine's memory: they fail before a run. */
static void test_long_sequences_are_refused(void) {
    static const struct {
        int64_t steps;
        bool is_refused;
    } rows[] = {{1000, false}, {1 << 20, true}, {1 << 24, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct attribute of = TXT("of", "LSTM");
        const struct node node = {.op = op_of_id(OP_RECURRENT_GRADIENT),
                                  .input_count = 11,
                                  .output_count = 7,
                                  .attributes = &of,
                                  .attribute_count = 1};
        const struct fact x = {.shape = {3, {rows[i].steps, 8, 4}}},
                          w = {.shape = {3, {1, 256, 4}}}, r = {.shape = {3, {1, 256, 64}}};
        const struct fact *inputs[11] = {&x, &w, &r};
        struct fact outputs[7] = {0};
        struct error err = {0};
        CHECK_INT(infer_recurrent_gradient(&node, inputs, outputs, &err),
                  rows[i].is_refused ? -1 : 0);
        CHECK(!rows[i].is_refused || strstr(err.text, "use shorter sequences or a smaller batch"));
        CHECK(rows[i].is_refused || shape_equal(&outputs[0].shape, &x.shape));
    }
}

int main(void) {
    TEST(test_long_sequences_are_refused);
    TEST(test_sums_what_is_read_twice);
    TEST(test_value_that_a_node_makes);
    TEST(test_stops_and_refusals);
    TEST(test_internal_operators_are_no_ones);
    return TEST_END();
}
