// SPDX-License-Identifier: Apache-2.0
/* What an output is, seen through what only moves its numbers; and endings whose loss would be
 * another one than is meant: refused by name. */
#include "agent/engine/training.h"

#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

enum { WIDTH = 4, STEPS = 3 };

static int one(struct network *network, const char *op, int x) {
    return network_node(network, op, (int[]){x, -2}, NULL);
}

static int two(struct network *network, const char *op, int a, int b) {
    return network_node(network, op, (int[]){a, b, -2}, NULL);
}

static int clip(struct network *network, int x, float low, float high) {
    int bounds[2];
    const float numbers[] = {low, high};
    for (int i = 0; i < 2; i++) {
        struct tensor tensor = {.shape = {.rank = 0}};
        tensor.data = arena_array(&network->graph.arena, 1, sizeof(float));
        memcpy(tensor.data, &numbers[i], sizeof(float));
        bounds[i] = network_keep(network, "bound", tensor);
        network->values[bounds[i]].is_literal = true;
    }
    return network_node(network, "Clip", (int[]){x, bounds[0], bounds[1], -2}, NULL);
}

static int moved(struct network *network, int x) {
    const struct attribute turned[] = {INTS("perm", 0, 2, 1), {0}};
    x = network_node(network, "Transpose", (int[]){one(network, "Identity", x), -2}, turned);
    x = network_node(network, "Dropout", (int[]){x, -2}, NULL);
    int shape = network_integers(network, (int64_t[]){-1, WIDTH, STEPS, 1}, 4);
    x = two(network, "Squeeze", two(network, "Reshape", x, shape),
            network_integers(network, (int64_t[]){3}, 1));
    return clip(network, x, 1e-6f, 1 - 1e-6f);
}

/* ---- endings: of x [n, STEPS, WIDTH], the product ---- */

static int by_sigmoid(struct network *network, int x) {
    return one(network, "Sigmoid", x);
}

static int by_sigmoid_moved(struct network *network, int x) {
    return moved(network, one(network, "Sigmoid", x));
}

static int by_softmax_moved(struct network *network, int x) {
    return moved(network, one(network, "Softmax", x));
}

static int by_logarithm_moved(struct network *network, int x) {
    return moved(network, one(network, "LogSoftmax", x));
}

static int by_sigmoid_and_more(struct network *network, int x) {
    return one(network, "Neg", one(network, "Sigmoid", x));
}

static int by_softmax(struct network *network, int x) {
    return one(network, "Softmax", x);
}

static int mean(struct network *network, int x) {
    const struct attribute over[] = {INTS("axes", 1), INT("keepdims", 0), {0}};
    return network_node(network, "ReduceMean", (int[]){x, -2}, over);
}

static int by_mean_of_softmax(struct network *network, int x) {
    return mean(network, one(network, "Softmax", x));
}

static int by_mean_of_logarithms(struct network *network, int x) {
    return mean(network, one(network, "LogSoftmax", x));
}

static int by_mean_of_sigmoids(struct network *network, int x) {
    return mean(network, one(network, "Sigmoid", x));
}

static int by_cut_sigmoid(struct network *network, int x) {
    return clip(network, one(network, "Sigmoid", x), 0.2f, 1);
}

static void test_endings(void) {
    static const struct {
        int (*make)(struct network *network, int x);
        enum training_loss loss;
        enum training_ending scores;
        const char *refused[2];
    } rows[] = {
        {by_sigmoid, TRAINING_BINARY_CROSS_ENTROPY, TRAINING_SIGMOIDS, {NULL}},
        {by_sigmoid_moved, TRAINING_BINARY_CROSS_ENTROPY, TRAINING_SIGMOIDS, {NULL}},
        {by_sigmoid_moved, TRAINING_MEAN_SQUARED, TRAINING_SIGMOIDS, {NULL}},
        {by_sigmoid_moved, TRAINING_CROSS_ENTROPY, TRAINING_SIGMOIDS, {NULL}},
        {by_softmax_moved, TRAINING_CROSS_ENTROPY, TRAINING_PROBABILITIES, {NULL}},
        {by_softmax_moved, TRAINING_MEAN_SQUARED, TRAINING_PROBABILITIES, {NULL}},
        {by_logarithm_moved, TRAINING_CROSS_ENTROPY, TRAINING_LOG_PROBABILITIES, {NULL}},
        {by_sigmoid_and_more, TRAINING_BINARY_CROSS_ENTROPY, TRAINING_LOGITS, {NULL}},
        {by_mean_of_logarithms, TRAINING_CROSS_ENTROPY, TRAINING_LOGITS, {NULL}},
        {by_softmax,
         TRAINING_BINARY_CROSS_ENTROPY,
         0,
         {"result of Softmax node \"Softmax\"", "take CrossEntropy"}},
        {by_mean_of_softmax,
         TRAINING_CROSS_ENTROPY,
         0,
         {"ReduceMean node \"ReduceMean\" makes other numbers of the probabilities of Softmax node",
          "with the Softmax as its last operator"}},
        {by_mean_of_sigmoids,
         TRAINING_BINARY_CROSS_ENTROPY,
         0,
         {"ReduceMean node \"ReduceMean\" makes other", "with the Sigmoid as its last operator"}},
        {by_cut_sigmoid,
         TRAINING_BINARY_CROSS_ENTROPY,
         0,
         {"Clip node \"Clip\" makes other numbers", "with the Sigmoid as its last operator"}},
        {by_mean_of_sigmoids, TRAINING_HUBER, TRAINING_SIGMOIDS, {NULL}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        const struct training_options options = {.loss = rows[i].loss};
        network_init(&network, 13);
        int x = network_input(&network, (struct shape){3, {-1, STEPS, WIDTH}});
        network.values[x].has_shape = true;
        int w = network_constant(&network, (struct shape){2, {WIDTH, WIDTH}}, 0.5f, 0);
        network_output(&network, rows[i].make(&network, two(&network, "MatMul", x, w)));
        int result = training_graph_build(&network.graph, &options, &graph, &err);
        CHECK_INT(result, rows[i].refused[0] ? -1 : 0);
        for (int k = 0; k < 2 && rows[i].refused[k]; k++) {
            CHECK(strstr(err.text, rows[i].refused[k]) != NULL);
        }
        if (result == 0) {
            CHECK_INT((int)graph.losses[0].ending, (int)rows[i].scores);
            CHECK_INT((int)graph.variable_count, 1);
            training_graph_release(&graph);
        }
        arena_release(&network.graph.arena);
    }
}

int main(void) {
    TEST(test_endings);
    return TEST_END();
}
