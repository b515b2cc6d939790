// SPDX-License-Identifier: Apache-2.0
/* Where a network is rounded to bfloat16 for training, and how the device rounds. */
#include "agent/engine/ops/rewrite/bfloat.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/training/gradient.h"
#include "agent/engine/training.h"
#include "lib/number/half.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

#include <math.h>

/* Conv, norm, relu, flatten, a product with transposed weights and a sum. */
static void build(struct network *network) {
    network_init(network, 13);
    int x = network_input(network, (struct shape){4, {-1, 2, 6, 6}});
    network->values[x].has_shape = true;
    int w = network_constant(network, (struct shape){4, {3, 2, 3, 3}}, 0.4f, 0);
    int bias = network_constant(network, (struct shape){1, {3}}, 0.1f, 0);
    x = network_node(network, "Conv", (int[]){x, w, bias, -2}, NULL);
    const struct shape three = {1, {3}};
    int scale = network_constant(network, three, 0.1f, 1);
    int shift = network_constant(network, three, 0.1f, 0);
    int mean = network_constant(network, three, 0, 0);
    int variance = network_constant(network, three, 0, 1);
    x = network_node(network, "BatchNormalization", (int[]){x, scale, shift, mean, variance, -2},
                     NULL);
    x = network_node(network, "Relu", (int[]){x, -2}, NULL);
    x = network_node(network, "Flatten", (int[]){x, -2}, NULL);
    int dense = network_constant(network, (struct shape){2, {4, 48}}, 0.2f, 0);
    dense = network_node(network, "Transpose", (int[]){dense, -2}, NULL);
    x = network_node(network, "MatMul", (int[]){x, dense, -2}, NULL);
    int more = network_constant(network, (struct shape){1, {4}}, 0.2f, 0);
    network_output(network, network_node(network, "Add", (int[]){x, more, -2}, NULL));
}

static const struct node *find(const struct graph *graph, const char *op) {
    for (size_t i = 0; i < graph->node_count; i++) {
        if (strcmp(graph->nodes[i].op->name, op) == 0) {
            return &graph->nodes[i];
        }
    }
    return NULL;
}

/* Whether the node's input comes from a rounding mark, and the value under it. */
static bool is_rounded(const struct graph *graph, const struct node *node, int input,
                       int *ret_under) {
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].outputs[0] == node->inputs[input]) {
            *ret_under = graph->nodes[i].inputs[0];
            return graph->nodes[i].op->id == OP_ROUND_BFLOAT;
        }
    }
    return false;
}

static void test_where_it_is_rounded(void) {
    struct network network;
    struct graph graph;
    struct error err = {0};
    int under = -1;
    build(&network);
    CHECK_OK(bfloat_graph(&network.graph, &graph, &err), &err);
    const struct node *conv = find(&graph, "Conv"), *norm = find(&graph, "BatchNormalization");
    const struct node *product = find(&graph, "MatMul"), *turn = find(&graph, "Transpose");
    CHECK(is_rounded(&graph, conv, 0, &under) && under == network.graph.inputs[0]);
    CHECK(is_rounded(&graph, conv, 1, &under) && graph.values[under].is_constant);
    CHECK(!is_rounded(&graph, conv, 2, &under)); /* the bias */
    CHECK(is_rounded(&graph, norm, 0, &under) && under == conv->outputs[0]);
    CHECK(!is_rounded(&graph, norm, 1, &under) && !is_rounded(&graph, norm, 4, &under));
    CHECK(is_rounded(&graph, find(&graph, "Relu"), 0, &under));
    CHECK(!is_rounded(&graph, product, 0, &under)); /* a view of a rounded value */
    CHECK(product->inputs[0] == find(&graph, "Flatten")->outputs[0]);
    CHECK(is_rounded(&graph, product, 1, &under) && under == turn->outputs[0]);
    CHECK(!is_rounded(&graph, turn, 0, &under));
    CHECK_INT(graph.outputs[0], network.graph.outputs[0]); /* float32, as the loss */
    CHECK_INT(graph.node_count, network.graph.node_count + 7);
    graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* Flatten of Dropout of an input, and a weight that one product reads directly, and another through
 * a view. */
static void test_what_is_no_rounded_view(void) {
    struct network network;
    struct graph graph;
    struct error err = {0};
    int under = -1;
    network_init(&network, 11);
    int x = network_input(&network, (struct shape){2, {4, 6}});
    int w = network_constant(&network, (struct shape){2, {6, 6}}, 1, 0);
    int y = network_node(&network, "Relu", (int[]){x, -2}, NULL);
    y = network_node(&network, "Dropout", (int[]){y, -2}, NULL);
    y = network_node(&network, "MatMul", (int[]){y, w, -2}, NULL);
    int view = network_node(&network, "Flatten", (int[]){w, -2}, NULL);
    y = network_node(&network, "Gemm", (int[]){y, view, -2}, NULL);
    network_output(&network, y);
    CHECK_OK(bfloat_graph(&network.graph, &graph, &err), &err);
    CHECK(is_rounded(&graph, find(&graph, "MatMul"), 0, &under) &&
          under == find(&graph, "Dropout")->outputs[0]);
    CHECK(is_rounded(&graph, find(&graph, "Gemm"), 1, &under) &&
          under == find(&graph, "Flatten")->outputs[0]);
    graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* All weights are still found: under marks, transposed, and after products. */
static void test_what_is_trained(void) {
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    const struct training_options options = {.loss = TRAINING_CROSS_ENTROPY, .is_bfloat = true};
    build(&network);
    CHECK_OK(training_graph_build(&network.graph, &options, &graph, &err), &err);
    CHECK_INT(graph.variable_count, 6);
    CHECK_INT(graph.norm_count, 1);
    int marks = 0;
    for (size_t i = 0; i < graph.graph.node_count; i++) {
        marks += graph.graph.nodes[i].op->id == OP_ROUND_BFLOAT;
    }
    CHECK_INT(marks, 13); /* 7 forward; in backward all except that of the network's input */
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* One node against the type's conversion: ties, carries, NaN. */
static void test_how_it_is_rounded(void) {
    enum { COUNT = 40000 };
    static float x[COUNT];
    struct error err = {0};
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits = (uint32_t)i * 2654435761u; /* all signs and sizes */
        bits = i % 4 == 0 ? (bits & 0xffff0000) | 0x8000 : i % 4 == 1 ? bits | 0xffff : bits;
        memcpy(&x[i], &bits, sizeof bits);
    }
    x[0] = INFINITY;
    x[1] = -INFINITY;
    x[2] = NAN;
    x[3] = -0.0f;
    x[4] = 3.4e38f; /* rounds to infinity */
    struct builder builder;
    struct graph graph;
    const struct shape shape = {1, {COUNT}};
    builder_init(&builder, NULL);
    int value = builder_input(&builder, "x", TENSOR_FLOAT32, &shape);
    const struct builder_new_node node = {.op = op_of_id(OP_ROUND_BFLOAT),
                                          .name = "round",
                                          .input_count = 1,
                                          .output_count = 1,
                                          .inputs = &value};
    builder_output(&builder, builder_node(&builder, &node));
    builder_take(&builder, &graph);
    struct tensor input = {.shape = shape, .data = x}, output;
    struct device *device = NULL;
    struct training *training = NULL;
    bool is_bound = false;
    CHECK_OK(device_open(NULL, 2, &device, &err), &err);
    CHECK_OK(training_open(device, &graph, &input, &is_bound, &training, &err), &err);
    CHECK_OK(training_run(training, &input, &output, NULL, &err), &err);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        float y = ((const float *)output.data)[i];
        float wanted = bfloat_to_float(bfloat_from_double((double)x[i]));
        bool is_same = isnan(wanted) ? isnan(y) : memcmp(&y, &wanted, sizeof y) == 0;
        wrong += !is_same;
    }
    CHECK_INT(wrong, 0);
    training_free(training);
    device_close(device);
    graph_release(&graph);
}

int main(void) {
    TEST(test_where_it_is_rounded);
    TEST(test_what_is_no_rounded_view);
    TEST(test_what_is_trained);
    TEST(test_how_it_is_rounded);
    return TEST_END();
}
