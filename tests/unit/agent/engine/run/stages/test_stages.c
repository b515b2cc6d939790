// SPDX-License-Identifier: Apache-2.0
/* Networks in stages, run with changing inputs: plans are kept and replaced, stages are cut, limits
 * hold. What each operator gives is compared with ONNX Runtime by tests/e2e/engine/test_flow.sh. */
#include "agent/engine/run/stages/stages.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"
#include "tests/test.h"

#include <string.h>

static int add(struct builder *builder, enum op_id id, const int *inputs, int count) {
    return builder_node(builder, &(struct builder_new_node){.op = op_of_id(id),
                                                            .name = "n",
                                                            .input_count = count,
                                                            .output_count = 1,
                                                            .inputs = inputs});
}

static struct tensor floats(float *values, int64_t count) {
    return (struct tensor){.type = TENSOR_FLOAT32, .shape = {1, {count}}, .data = values};
}

/* The places of what is not 0, and twice these elements. */
static void test_changing_sizes(void) {
    struct builder builder;
    struct graph graph;
    struct device *device;
    struct error err = {0};
    builder_init(&builder, NULL);
    int x = builder_input(&builder, "x", TENSOR_FLOAT32, NULL);
    int places = add(&builder, OP_NON_ZERO, &x, 1);
    int taken = add(&builder, OP_GATHER, (int[]){x, places}, 2);
    int twice = add(&builder, OP_ADD, (int[]){taken, taken}, 2);
    builder_output(&builder, places);
    builder_output(&builder, twice);
    builder_take(&builder, &graph);
    CHECK(stages_needed(&graph));
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    struct stages *stages = stages_new(device, &graph, 1e9);
    for (int round = 0; round < 40; round++) { /* more sizes than plans are kept */
        float values[16] = {0};
        int64_t count = 0, size = 3 + round * 5 % 13;
        for (int64_t i = 0; i < size; i++) {
            values[i] = (i + round) % 3 ? (float)i : 0;
            count += values[i] != 0;
        }
        struct tensor input = floats(values, size), outputs[2];
        CHECK_OK(stages_run(stages, &input, outputs, &err), &err);
        CHECK_INT(outputs[0].shape.dims[1], count);
        CHECK_INT(outputs[1].shape.dims[1], count);
        for (int64_t i = 0; i < count; i++) {
            int64_t at = ((const int64_t *)outputs[0].data)[i];
            CHECK(((const float *)outputs[1].data)[i] == 2 * values[at]);
        }
        if (round == 20) {
            stages_forget(stages);
        }
    }
    stages_free(stages);
    device_close(device);
    graph_release(&graph);
}

/* A shape that the network computes: its stage is cut in two, once, and keeps what both need. */
static void test_cut(void) {
    struct builder builder;
    struct graph graph;
    struct device *device;
    struct error err = {0};
    const struct attribute to[] = {
        {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = tensor_type_onnx(TENSOR_INT64)}};
    builder_init(&builder, NULL);
    int x = builder_input(&builder, "x", TENSOR_FLOAT32, NULL);
    int wanted = builder_input(&builder, "shape", TENSOR_FLOAT32, NULL);
    int negative = add(&builder, OP_NEG, &x, 1);
    int absolute = add(&builder, OP_ABS, &wanted, 1);
    int shape = builder_node(&builder, &(struct builder_new_node){.op = op_of_id(OP_CAST),
                                                                  .name = "cast",
                                                                  .input_count = 1,
                                                                  .output_count = 1,
                                                                  .inputs = &absolute,
                                                                  .attribute_count = 1,
                                                                  .attributes = to});
    int shaped = add(&builder, OP_RESHAPE, (int[]){negative, shape}, 2);
    builder_output(&builder, shaped);
    builder_output(&builder, negative);
    builder_take(&builder, &graph);
    CHECK(!stages_needed(&graph));
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    struct stages *stages = stages_new(device, &graph, 1e9);
    float values[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (int round = 0; round < 12; round++) {
        int64_t rows = (int64_t[]){1, 2, 3, 4, 6, 12}[round % 6];
        float sizes[2] = {(float)-rows, (float)(12 / rows)};
        struct tensor inputs[] = {floats(values, 12), floats(sizes, 2)}, outputs[2];
        CHECK_OK(stages_run(stages, inputs, outputs, &err), &err);
        CHECK(outputs[0].shape.rank == 2 && outputs[0].shape.dims[0] == rows);
        CHECK(memcmp(outputs[0].data, outputs[1].data, sizeof values) == 0);
        CHECK(((const float *)outputs[0].data)[11] == -12);
    }
    float wrong[2] = {5, 5};
    struct tensor inputs[] = {floats(values, 12), floats(wrong, 2)}, outputs[2];
    CHECK_INT(stages_run(stages, inputs, outputs, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    stages_free(stages);
    device_close(device);
    graph_release(&graph);
}

/* A loop that never ends is refused when its work is spent. */
static void test_endless(void) {
    struct builder builder;
    struct graph graph, body;
    struct device *device;
    struct error err = {0};
    builder_init(&builder, NULL);
    (void)builder_input(&builder, "n", TENSOR_INT64, NULL);
    int go = builder_input(&builder, "go", TENSOR_BOOL, NULL);
    builder_output(&builder, add(&builder, OP_IDENTITY, &go, 1));
    int v = builder_input(&builder, "v", TENSOR_FLOAT32, NULL);
    builder_output(&builder, add(&builder, OP_NEG, &v, 1));
    builder_take(&builder, &body);
    const struct attribute bodies[] = {{.name = "body", .kind = ATTRIBUTE_GRAPH, .graph = &body}};
    builder_init(&builder, NULL);
    int x = builder_input(&builder, "x", TENSOR_FLOAT32, NULL);
    builder_output(&builder,
                   builder_node(&builder, &(struct builder_new_node){.op = op_of_id(OP_LOOP),
                                                                     .name = "loop",
                                                                     .input_count = 3,
                                                                     .output_count = 1,
                                                                     .inputs = (int[]){-1, -1, x},
                                                                     .attribute_count = 1,
                                                                     .attributes = bodies}));
    builder_take(&builder, &graph);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    struct stages *stages = stages_new(device, &graph, 1e7);
    float value = 1;
    struct tensor input = floats(&value, 1), output;
    CHECK_INT(stages_run(stages, &input, &output, &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
    CHECK(strstr(err.text, "1e+07 steps") != NULL);
    stages_free(stages);
    device_close(device);
    graph_release(&graph);
    graph_release(&body);
}

int main(void) {
    TEST(test_changing_sizes);
    TEST(test_cut);
    TEST(test_endless);
    return TEST_END();
}
