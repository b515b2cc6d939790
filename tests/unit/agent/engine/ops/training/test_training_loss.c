// SPDX-License-Identifier: Apache-2.0
/* Losses and shapes: numbers that would broadcast against their targets are refused, by each loss
 * and with both shapes; scores whose axis of classes is not told by their shape are noticed. */
#include "agent/engine/ops/table.h"
#include "agent/engine/training.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

#include <stdlib.h>

enum { SAMPLES = 4, WIDTH = 5 };

struct row {
    int64_t columns; /* of the output, [SAMPLES, columns] */
    bool is_flat;    /* without the last axis: [SAMPLES] */
    struct shape target;
    const char *refused; /* what the message names; NULL: trained */
};

static struct shape input_shape(const struct network *network) {
    return network->values[network->inputs[0]].shape;
}

/* A product with weights [WIDTH, columns]; `x`: the shape of its input. */
static void build(struct network *network, struct shape x, int64_t columns, bool is_flat) {
    const struct attribute last[] = {INTS("axes", 1), {0}};
    network_init(network, 11);
    int y = network_input(network, x);
    network->values[y].has_shape = true;
    int w = network_constant(network, (struct shape){2, {WIDTH, columns}}, 0.4f, 0);
    y = network_node(network, "MatMul", (int[]){y, w, -2}, NULL);
    y = is_flat ? network_node(network, "Squeeze", (int[]){y, -2}, last) : y;
    network_output(network, y);
}

/* Opens the training for a target, runs it once, and looks at the scores that the loss reads. */
static int train(struct network *network, enum training_loss loss, struct shape target,
                 struct tensor *ret_scores, struct error *err) {
    const struct training_options options = {.loss = loss};
    const struct shape one = {0}, x = input_shape(network);
    struct tensor inputs[4] = {0}, outputs[4] = {0};
    bool is_bound[4] = {false};
    struct training_graph graph = {0};
    struct training *training = NULL;
    struct device *device = NULL;
    CHECK_OK(training_graph_build(&network->graph, &options, &graph, err), err);
    CHECK(graph.graph.input_count == 4 && graph.graph.output_count <= 4);
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &x, err), err);
    network_fill(&inputs[0], 7);
    const struct tensor *w = &network->values[graph.variables[0]].constant;
    CHECK_OK(tensor_init(&inputs[graph.first_variable], TENSOR_FLOAT32, &w->shape, err), err);
    enum tensor_type type = loss == TRAINING_CROSS_ENTROPY ? TENSOR_INT64 : TENSOR_FLOAT32;
    CHECK_OK(tensor_init(&inputs[graph.target], type, &target, err), err);
    memset(inputs[graph.target].data, 0,
           (size_t)shape_count(&target) * (type == TENSOR_INT64 ? 8 : 4));
    CHECK_OK(tensor_init(&inputs[graph.scale], TENSOR_FLOAT32, &one, err), err);
    *(float *)inputs[graph.scale].data = 1.0f / SAMPLES;
    CHECK_OK(device_open("cpu", 1, &device, err), err);
    int result = training_open(device, &graph.graph, inputs, is_bound, &training, err);
    if (result == 0) {
        *ret_scores = training_scores(training);
        result = training_run(training, inputs, outputs, NULL, err);
    }
    training_free(training);
    device_close(device);
    for (int i = 0; i < 4; i++) {
        tensor_release(&inputs[i]);
    }
    training_graph_release(&graph);
    return result;
}

static void test_numbers_have_the_shape_of_their_targets(void) {
    static const enum training_loss losses[] = {TRAINING_MEAN_SQUARED,
                                                TRAINING_BINARY_CROSS_ENTROPY, TRAINING_HUBER};
    static const struct row rows[] = {
        {3, false, {2, {SAMPLES, 3}}, NULL},
        {1, false, {2, {SAMPLES, 1}}, NULL},
        {1, true, {1, {SAMPLES}}, NULL},
        {5, false, {2, {SAMPLES, 1}}, "has the shape 4x5, and the target 4x1; "},
        {1, false, {2, {SAMPLES, 5}}, "has the shape 4x1, and the target 4x5; "},
        {1, true, {2, {SAMPLES, 1}}, "has the shape 4, and the target 4x1; "},
        {1, false, {1, {SAMPLES}}, "has the shape 4x1, and the target 4; "},
        {1, true, {2, {1, SAMPLES}}, "has the shape 4, and the target 1x4; "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(losses); i++) {
        const struct row *row = &rows[i / ARRAY_LEN(losses)];
        enum training_loss loss = losses[i % ARRAY_LEN(losses)];
        struct tensor ignored;
        struct network network;
        struct error err = {0};
        build(&network, (struct shape){2, {SAMPLES, WIDTH}}, row->columns, row->is_flat);
        int result = train(&network, loss, row->target, &ignored, &err);
        if ((result == 0) != !row->refused ||
            (row->refused && (err.kind != ERROR_INVALID || !strstr(err.text, row->refused)))) {
            printf("# loss %d, row %zu: %d, %s\n", loss, i / ARRAY_LEN(losses), result, err.text);
            test_failures++;
        }
        arena_release(&network.graph.arena);
    }
}

/* Scores [4, 6, classes], labels [4, 6]. */
static void test_scores_of_a_square_are_noticed(void) {
    for (int64_t classes = 3; classes <= 6; classes += 3) {
        const struct shape labels = {2, {SAMPLES, 6}}, wanted = {3, {SAMPLES, 6, classes}};
        struct label_places places = {0};
        struct tensor scores = {0};
        struct network network;
        struct error err = {0};
        build(&network, (struct shape){3, {SAMPLES, 6, WIDTH}}, classes, false);
        CHECK_OK(train(&network, TRAINING_CROSS_ENTROPY, labels, &scores, &err), &err);
        CHECK(shape_equal(&scores.shape, &wanted));
        CHECK_OK(loss_places(&scores.shape, &labels, &places, &err), &err);
        CHECK(places.fits_both == (classes == 6));
        CHECK_INT(places.class_step, classes == 6 ? 6 : 1); /* axis 1, if that fits */
        arena_release(&network.graph.arena);
    }
    const struct shape plain = {2, {SAMPLES, 6}}, labels = {1, {SAMPLES}};
    struct label_places places = {0};
    struct error err = {0};
    CHECK_OK(loss_places(&plain, &labels, &places, &err), &err);
    CHECK(!places.fits_both); /* the same axis */
}

int main(void) {
    TEST(test_numbers_have_the_shape_of_their_targets);
    TEST(test_scores_of_a_square_are_noticed);
    return TEST_END();
}
