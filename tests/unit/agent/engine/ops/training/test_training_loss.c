// SPDX-License-Identifier: Apache-2.0
/* Losses and shapes: numbers that would broadcast against their targets are refused, by each loss
 * and with both shapes; scores whose axis of classes is not clear from their shape are noticed; the
 * losses of several outputs are summed. */
#include "agent/engine/ops/infer/loss.h"
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
        *ret_scores = training_scores(training, 0);
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

/* ---- several outputs ------------------------------------------------------------------------ */

enum { HIDDEN = 3, NUMBERS = 2, INPUTS_MAX = 9 };

/* tanh(x w) v, and x w u: two outputs that share w; `which`: only that one (-1: both). */
static void build_heads(struct network *network, int which) {
    network_init(network, 11);
    int x = network_input(network, (struct shape){2, {SAMPLES, WIDTH}});
    network->values[x].has_shape = true;
    int w = network_constant(network, (struct shape){2, {WIDTH, HIDDEN}}, 0.5f, 0);
    int h = network_node(network, "MatMul", (int[]){x, w, -2}, NULL);
    int v = network_constant(network, (struct shape){2, {HIDDEN, NUMBERS}}, 0.7f, 0);
    int t = network_node(network, "Tanh", (int[]){h, -2}, NULL);
    int a = network_node(network, "MatMul", (int[]){t, v, -2}, NULL);
    int u = network_constant(network, (struct shape){2, {HIDDEN, 4}}, 0.6f, 0);
    int b = network_node(network, "MatMul", (int[]){h, u, -2}, NULL);
    if (which != 1) {
        network_output(network, a);
    }
    if (which != 0) {
        network_output(network, b);
    }
}

struct heads_run {
    float loss, losses[2], correct;
    float gradient[WIDTH * HIDDEN]; /* of w */
};

/* Output 0 has Huber's loss at a scale of 0.5, output 1 cross entropy at one of 2. */
static struct heads_run run_heads(int which) {
    const struct training_options entropy = {.loss = TRAINING_CROSS_ENTROPY};
    const struct training_options both = {
        .loss = TRAINING_HUBER, .further = &entropy, .further_count = which < 0};
    const struct shape one = {0}, labels = {1, {SAMPLES}}, numbers = {2, {SAMPLES, NUMBERS}};
    struct tensor inputs[INPUTS_MAX] = {0}, outputs[INPUTS_MAX] = {0};
    bool is_bound[INPUTS_MAX] = {false};
    struct training_graph graph = {0};
    struct training *training = NULL;
    struct device *device = NULL;
    struct heads_run run = {0};
    struct error err = {0};
    struct network network;
    build_heads(&network, which);
    CHECK_OK(training_graph_build(&network.graph, which == 1 ? &entropy : &both, &graph, &err),
             &err);
    CHECK(graph.loss_count == (which < 0 ? 2 : 1) && graph.graph.output_count <= INPUTS_MAX);
    const struct shape x = input_shape(&network);
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &x, &err), &err);
    network_fill(&inputs[0], 7);
    for (size_t i = 0; i < graph.variable_count; i++) {
        inputs[graph.first_variable + i] = network.values[graph.variables[i]].constant;
        inputs[graph.first_variable + i].owned = false;
    }
    for (size_t i = 0; i < graph.loss_count; i++) {
        bool is_class = which == 1 || i == 1;
        struct tensor *target = &inputs[graph.losses[i].target];
        struct tensor *scale = &inputs[graph.losses[i].scale];
        CHECK_OK(tensor_init(target, is_class ? TENSOR_INT64 : TENSOR_FLOAT32,
                             is_class ? &labels : &numbers, &err),
                 &err);
        CHECK_OK(tensor_init(scale, TENSOR_FLOAT32, &one, &err), &err);
        *(float *)scale->data = is_class ? 2 : 0.5f;
        for (int64_t k = 0; is_class && k < SAMPLES; k++) {
            ((int64_t *)target->data)[k] = k % 3;
        }
        if (!is_class) {
            network_fill(target, 9);
        }
    }
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(training_open(device, &graph.graph, inputs, is_bound, &training, &err), &err);
    CHECK_OK(training_run(training, inputs, outputs, NULL, &err), &err);
    run.loss = *(const float *)outputs[0].data;
    for (size_t i = 0; i < graph.loss_count; i++) {
        size_t correct = graph.losses[i].correct;
        run.losses[i] = *(const float *)outputs[graph.losses[i].loss].data;
        run.correct = correct ? *(const float *)outputs[correct].data : run.correct;
    }
    memcpy(run.gradient, outputs[graph.first_gradient].data, sizeof run.gradient);
    training_free(training);
    device_close(device);
    for (int i = 0; i < INPUTS_MAX; i++) {
        tensor_release(&inputs[i]);
    }
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
    return run;
}

static bool is_near(float a, float b) {
    return fabsf(a - b) <= 1e-6f * (1 + fabsf(b));
}

static void test_losses_of_several_outputs_are_summed(void) {
    const struct heads_run both = run_heads(-1), first = run_heads(0), second = run_heads(1);
    CHECK(is_near(both.losses[0], first.loss) && is_near(both.losses[1], second.loss));
    CHECK(is_near(both.loss, first.loss + second.loss) && first.loss > 0 && second.loss > 0);
    CHECK(both.correct == second.correct);
    for (int i = 0; i < WIDTH * HIDDEN; i++) {
        CHECK(is_near(both.gradient[i], first.gradient[i] + second.gradient[i]));
        CHECK(fabsf(first.gradient[i]) > 0 && fabsf(second.gradient[i]) > 0);
    }
}

static void test_each_output_has_a_loss(void) {
    const struct training_options one = {.loss = TRAINING_MEAN_SQUARED};
    struct training_graph graph = {0};
    struct network network;
    struct error err = {0};
    build_heads(&network, -1);
    CHECK_INT(training_graph_build(&network.graph, &one, &graph, &err), -1);
    CHECK(err.kind == ERROR_UNSUPPORTED &&
          strstr(err.text, "the network has 2 outputs, and losses are given for 1") &&
          strstr(err.text, "spec.trainer.losses"));
    arena_release(&network.graph.arena);
}

int main(void) {
    TEST(test_numbers_have_the_shape_of_their_targets);
    TEST(test_scores_of_a_square_are_noticed);
    TEST(test_losses_of_several_outputs_are_summed);
    TEST(test_each_output_has_a_loss);
    return TEST_END();
}
