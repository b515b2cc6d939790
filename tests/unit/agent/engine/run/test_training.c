// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/training.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/table.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

enum { SAMPLES = 6, CLASSES = 4, OUTPUTS_MAX = 16 };

static int conv(struct network *network, int x, int64_t m, int64_t c) {
    int w = network_constant(network, (struct shape){4, {m, c, 3, 3}}, 0.4f, 0);
    int bias = network_constant(network, (struct shape){1, {m}}, 0.1f, 0);
    const struct attribute pads[] = {INTS("pads", 1, 1, 1, 1), {0}};
    return network_node(network, "Conv", (int[]){x, w, bias, -2}, pads);
}

/* Convolution, norm, activation, pool, a residual sum, a dense layer and a softmax. */
static void build_with(struct network *network, const char *activation) {
    network_init(network, 14);
    int x = network_input(network, (struct shape){4, {-1, 2, 8, 8}});
    network->values[x].has_shape = true;
    x = conv(network, x, 5, 2);
    const struct shape five = {1, {5}};
    int scale = network_constant(network, five, 0.1f, 1);
    int shift = network_constant(network, five, 0.1f, 0);
    int mean = network_constant(network, five, 0, 0);
    int variance = network_constant(network, five, 0, 1);
    x = network_node(network, "BatchNormalization", (int[]){x, scale, shift, mean, variance, -2},
                     NULL);
    network->values[scale].name = "norm.scale";
    network->values[shift].name = "norm.shift";
    if (strcmp(activation, "Clip") == 0) {
        static float numbers[] = {-0.25f, 0.5f}; // the network borrows them
        const struct tensor low = {.data = &numbers[0]}, high = {.data = &numbers[1]};
        int bounds[] = {network_keep(network, "low", low), network_keep(network, "high", high)};
        x = network_node(network, activation, (int[]){x, bounds[0], bounds[1], -2}, NULL);
    } else {
        x = network_node(network, activation, (int[]){x, -2}, NULL);
    }
    int y = conv(network, x, 5, 5);
    x = network_node(network, "Add", (int[]){x, y, -2}, NULL);
    const struct attribute pool[] = {INTS("kernel_shape", 2, 2), INTS("strides", 2, 2), {0}};
    x = network_node(network, "MaxPool", (int[]){x, -2}, pool);
    x = network_node(network, "Flatten", (int[]){x, -2}, NULL);
    int w = network_constant(network, (struct shape){2, {80, CLASSES}}, 0.2f, 0);
    int bias = network_constant(network, (struct shape){1, {CLASSES}}, 0.1f, 0);
    x = network_node(network, "Gemm", (int[]){x, w, bias, -2}, NULL);
    network_output(network, network_node(network, "Softmax", (int[]){x, -2}, NULL));
}

static void build(struct network *network) {
    build_with(network, "Relu");
}

struct fixture {
    struct network network;
    struct training_graph graph;
    struct device *device;
    struct training *training;
    struct tensor inputs[OUTPUTS_MAX], outputs[OUTPUTS_MAX];
    bool is_bound[OUTPUTS_MAX];
    void *memory[OUTPUTS_MAX];
    float *weights[OUTPUTS_MAX];
};

static void fill_inputs(struct fixture *f) {
    const struct training_graph *graph = &f->graph;
    struct error err = {0};
    const struct shape x = {4, {SAMPLES, 2, 8, 8}}, labels = {1, {SAMPLES}}, one = {0};
    CHECK_OK(tensor_init(&f->inputs[0], TENSOR_FLOAT32, &x, &err), &err);
    network_fill(&f->inputs[0], 7);
    for (size_t i = 0; i < graph->variable_count; i++) {
        const struct tensor *from = &f->network.values[graph->variables[i]].constant;
        struct tensor *to = &f->inputs[graph->first_variable + i];
        CHECK_OK(tensor_init(to, TENSOR_FLOAT32, &from->shape, &err), &err);
        memcpy(to->data, from->data, (size_t)shape_count(&from->shape) * sizeof(float));
    }
    CHECK_OK(tensor_init(&f->inputs[graph->target], TENSOR_INT64, &labels, &err), &err);
    for (int i = 0; i < SAMPLES; i++) {
        ((int64_t *)f->inputs[graph->target].data)[i] = i % CLASSES;
    }
    CHECK_OK(tensor_init(&f->inputs[graph->scale], TENSOR_FLOAT32, &one, &err), &err);
    *(float *)f->inputs[graph->scale].data = 1.0f / SAMPLES;
}

static void start_with(struct fixture *f, const char *activation,
                       const struct training_options *options, const char *device, int threads) {
    struct error err = {0};
    memset(f, 0, sizeof *f);
    build_with(&f->network, activation);
    CHECK_OK(training_graph_build(&f->network.graph, options, &f->graph, &err), &err);
    /* Clip's two bounds are parameters by their names, and learn. */
    CHECK_INT(f->graph.variable_count, strcmp(activation, "Clip") == 0 ? 10 : 8);
    fill_inputs(f);
    for (size_t i = 0; i < f->graph.variable_count; i++) {
        f->is_bound[f->graph.first_gradient + i] = true;
    }
    CHECK_OK(device_open(device, threads, &f->device, &err), &err);
    CHECK_OK(training_open(f->device, &f->graph.graph, f->inputs, f->is_bound, &f->training, &err),
             &err);
    for (size_t i = 0; i < f->graph.graph.output_count; i++) {
        struct tensor tensor = training_output(f->training, i);
        size_t size = (size_t)shape_count(&tensor.shape) * sizeof(float);
        if (f->is_bound[i]) {
            CHECK_OK(f->device->ops->alloc(f->device, size, &f->memory[i], &err), &err);
            training_bind(f->training, i, f->memory[i]);
        }
    }
}

static void start(struct fixture *f, const char *device, int threads) {
    const struct training_options options = {.loss = TRAINING_CROSS_ENTROPY};
    start_with(f, "Relu", &options, device, threads);
}

static void end(struct fixture *f) {
    training_free(f->training);
    for (size_t i = 0; i < OUTPUTS_MAX; i++) {
        tensor_release(&f->inputs[i]);
        if (f->memory[i]) {
            f->device->ops->free(f->device, f->memory[i]);
        }
    }
    device_close(f->device);
    training_graph_release(&f->graph);
    arena_release(&f->network.graph.arena);
}

static float run(struct fixture *f, const struct training_hook *hook) {
    struct error err = {0};
    CHECK_OK(training_run(f->training, f->inputs, f->outputs, hook, &err), &err);
    return err.kind ? 0 : *(const float *)f->outputs[0].data;
}

/* Steps of descent: the loss falls, and all samples become right. */
static void test_loss_falls(void) {
    struct fixture f;
    start(&f, NULL, 2);
    float first = run(&f, NULL), last = first;
    for (int step = 0; step < 60; step++) {
        for (size_t i = 0; i < f.graph.variable_count; i++) {
            struct tensor *weights = &f.inputs[f.graph.first_variable + i];
            const struct tensor *made = &f.outputs[f.graph.first_gradient + i];
            int64_t count = shape_count(&weights->shape);
            CHECK(shape_equal(&weights->shape, &made->shape));
            CHECK(made->data == f.memory[f.graph.first_gradient + i]);
            for (int64_t k = 0; k < count; k++) {
                ((float *)weights->data)[k] -= 0.1f * ((const float *)made->data)[k];
            }
        }
        last = run(&f, NULL);
    }
    CHECK(first > 1 && last < 0.1f * first);
    CHECK_INT((int)*(const float *)f.outputs[f.graph.correct].data, SAMPLES);
    end(&f);
}

/* Of a class that does not count, no sample is right. */
static void test_ignored_class(void) {
    for (int64_t class = 0; class < CLASSES; class ++) {
        const struct training_options options = {
            .loss = TRAINING_CROSS_ENTROPY, .has_ignored = true, .ignored = class};
        struct fixture f;
        start_with(&f, "Relu", &options, NULL, 1);
        for (int i = 0; i < SAMPLES; i++) {
            ((int64_t *)f.inputs[f.graph.target].data)[i] = class;
        }
        CHECK(run(&f, NULL) == 0);
        CHECK_INT((int)*(const float *)f.outputs[f.graph.correct].data, 0);
        end(&f);
    }
}

struct order {
    struct fixture *f;
    size_t last;
    int calls, ready;
};

static int after(void *context, size_t step, struct error *err UNUSED) {
    struct order *order = context;
    const struct training_graph *graph = &order->f->graph;
    CHECK(order->calls == 0 || step > order->last);
    order->last = step;
    order->calls++;
    for (size_t i = 0; i < graph->variable_count; i++) {
        order->ready += training_ready_step(order->f->training, graph->first_gradient + i) == step;
    }
    return 0;
}

/* The hook's calls: each gradient is complete at one step, the last layer's before the first's. */
static void test_hook_tells_when_gradients_are_made(void) {
    struct fixture f;
    start(&f, NULL, 2);
    struct order order = {.f = &f};
    run(&f, &(struct training_hook){after, &order});
    CHECK_INT(order.ready, (int)f.graph.variable_count);
    CHECK(training_ready_step(f.training, f.graph.first_gradient + f.graph.variable_count - 2) <
          training_ready_step(f.training, f.graph.first_gradient));
    end(&f);
}

/* The same bits for any number of threads and in every run; nearly the same on both devices. */
static void test_threads_change_no_bit(void) {
    struct fixture one, three, reference;
    start(&one, NULL, 1);
    start(&three, NULL, 3);
    start(&reference, "reference", 2);
    run(&one, NULL);
    run(&reference, NULL);
    for (int round = 0; round < 5; round++) {
        run(&three, NULL);
        for (size_t i = 0; i < one.graph.graph.output_count; i++) {
            const float *a = one.outputs[i].data, *b = three.outputs[i].data,
                        *c = reference.outputs[i].data;
            int64_t count = shape_count(&one.outputs[i].shape);
            CHECK(memcmp(a, b, (size_t)count * sizeof *a) == 0);
            for (int64_t k = 0; k < count; k++) {
                CHECK(fabsf(a[k] - c[k]) <= 1e-4f);
            }
        }
    }
    end(&one);
    end(&three);
    end(&reference);
}

/* A batch leaves its own statistics. */
static void test_norm_tells_its_statistics(void) {
    struct fixture f;
    start(&f, NULL, 2);
    run(&f, NULL);
    CHECK_INT(f.graph.norm_count, 1);
    const struct training_norm *norm = &f.graph.norms[0];
    CHECK(f.network.values[norm->mean].is_constant && norm->momentum == 0.9f);
    for (int c = 0; c < 5; c++) {
        float variance = ((const float *)f.outputs[norm->output + 1].data)[c];
        CHECK(variance > 0 && variance < 10);
    }
    end(&f);
}

/* Two gradients that are the same numbers: one is made in place, the other copied. */
static void test_equal_gradients(void) {
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    static const struct training_options options = {.loss = TRAINING_MEAN_SQUARED};
    network_init(&network, 13);
    int x = network_input(&network, (struct shape){2, {2, 3}});
    network.values[x].has_shape = true;
    int w = network_constant(&network, (struct shape){2, {3, 3}}, 1, 0);
    int a = network_constant(&network, (struct shape){2, {2, 3}}, 1, 0);
    int b = network_constant(&network, (struct shape){2, {2, 3}}, 1, 0);
    int y = network_node(&network, "MatMul", (int[]){x, w, -2}, NULL);
    int z = network_node(&network, "MatMul", (int[]){x, w, -2}, NULL);
    y = network_node(&network, "Add", (int[]){y, a, -2}, NULL);
    z = network_node(&network, "Add", (int[]){z, b, -2}, NULL);
    network_output(&network, network_node(&network, "Add", (int[]){y, z, -2}, NULL));
    CHECK_OK(training_graph_build(&network.graph, &options, &graph, &err), &err);
    CHECK_INT(graph.variable_count, 3);
    struct tensor inputs[8], outputs[8];
    float numbers[9] = {1, -2, 3, 4, -5, 6, 7, -8, 9}, one = 1, made[3][16];
    inputs[0] = (struct tensor){.shape = {2, {2, 3}}, .data = numbers};
    for (size_t i = 0; i < 3; i++) {
        inputs[graph.first_variable + i] = network.values[graph.variables[i]].constant;
    }
    inputs[graph.target] = inputs[0];
    inputs[graph.scale] = (struct tensor){.data = &one};
    const bool is_bound[8] = {false, true, true, true};
    struct device *device = NULL;
    struct training *training = NULL;
    CHECK_OK(device_open(NULL, 1, &device, &err), &err);
    CHECK_OK(training_open(device, &graph.graph, inputs, is_bound, &training, &err), &err);
    CHECK_INT(training_run(training, inputs, outputs, NULL, &err), -1); /* no memory is bound yet */
    error_clear(&err);
    for (size_t i = 0; i < 3; i++) {
        training_bind(training, 1 + i, made[i]);
    }
    CHECK_OK(training_run(training, inputs, outputs, NULL, &err), &err);
    CHECK(memcmp(made[1], made[2], 6 * sizeof(float)) == 0 && made[1][0] != 0);
    CHECK(outputs[2].data == made[1] && outputs[3].data == made[2]);
    inputs[0].shape.dims[0] = 1;
    CHECK_INT(training_run(training, inputs, outputs, NULL, &err), -1);
    CHECK(strstr(err.text, "shapes of the inputs differ") != NULL);
    training_free(training);
    device_close(device);
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
}

static void test_frozen_and_refused(void) {
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    const char *const freeze[] = {"norm.*"};
    const struct training_options options = {.freeze = freeze, .freeze_count = 1};
    build(&network);
    CHECK_OK(training_graph_build(&network.graph, &options, &graph, &err), &err);
    CHECK_INT(graph.variable_count, 6);
    CHECK_INT(graph.norm_count, 0); /* its statistics are unchanged, too */
    training_graph_release(&graph);
    const struct attribute all[] = {NUM("ratio", 1), {0}};
    network.opset = 11;
    network.outputs[0] = network_node(&network, "Dropout", (int[]){network.outputs[0], -2}, all);
    CHECK_INT(training_graph_build(&network.graph, &options, &graph, &err), -1);
    CHECK(strstr(err.text, "Dropout node \"Dropout\" cannot be trained: its ratio") != NULL);
    arena_release(&network.graph.arena);
}

/* Which of `count` elements of each of two samples remain. */
static void drop(struct fixture *f, const int64_t keys[2], float *ret_kept, int64_t count) {
    struct error err = {0};
    f->inputs[f->graph.keys] =
        (struct tensor){.type = TENSOR_INT64, .shape = {1, {2}}, .data = (void *)(uintptr_t)keys};
    CHECK_OK(training_run(f->training, f->inputs, f->outputs, NULL, &err), &err);
    memcpy(ret_kept, f->outputs[f->graph.first_kept].data, (size_t)(2 * count) * sizeof(float));
}

/* A quarter is dropped, the rest is scaled; the sample's key alone decides which. */
static void test_dropout(void) {
    enum { COUNT = 4000 };
    static float ones[2 * COUNT], weights[COUNT * 2], gradient[COUNT * 2];
    static float first[2 * COUNT], again[2 * COUNT], turned[2 * COUNT];
    struct fixture f = {.device = NULL};
    struct error err = {0};
    const char *const keep[] = {"dropped"};
    const struct training_options options = {
        .loss = TRAINING_CROSS_ENTROPY, .keep = keep, .keep_count = 1};
    network_init(&f.network, 11);
    int x = network_input(&f.network, (struct shape){2, {2, COUNT}});
    f.network.values[x].has_shape = true;
    const struct attribute quarter[] = {NUM("ratio", 0.25f), {0}};
    x = network_node(&f.network, "Dropout", (int[]){x, -2}, quarter);
    f.network.values[x].name = "dropped";
    const struct tensor w = {.shape = {2, {COUNT, 2}}, .data = weights};
    int constant = network_keep(&f.network, "w", w);
    network_output(&f.network, network_node(&f.network, "MatMul", (int[]){x, constant, -2}, NULL));
    CHECK_OK(training_graph_build(&f.network.graph, &options, &f.graph, &err), &err);
    CHECK_INT(f.graph.keys, 4);
    for (int i = 0; i < 2 * COUNT; i++) {
        ones[i] = 1;
    }
    const int64_t labels[2] = {0, 1}, keys[2] = {5, -9}, other[2] = {-9, 5};
    float scale = 0.5f;
    f.inputs[0] = (struct tensor){.shape = {2, {2, COUNT}}, .data = ones};
    CHECK_OK(training_place_samples(&f.graph, f.inputs, &err), &err);
    f.inputs[1] = w;
    f.inputs[2] =
        (struct tensor){.type = TENSOR_INT64, .shape = {1, {2}}, .data = (void *)(uintptr_t)labels};
    f.inputs[3] = (struct tensor){.data = &scale};
    f.inputs[4] = f.inputs[2];
    f.is_bound[f.graph.first_gradient] = true;
    CHECK_OK(device_open(NULL, 2, &f.device, &err), &err);
    CHECK_OK(training_open(f.device, &f.graph.graph, f.inputs, f.is_bound, &f.training, &err),
             &err);
    training_bind(f.training, f.graph.first_gradient, gradient);
    drop(&f, keys, first, COUNT);
    drop(&f, keys, again, COUNT);
    drop(&f, other, turned, COUNT);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, turned + COUNT, COUNT * sizeof(float)) == 0);
    CHECK(memcmp(first, turned, COUNT * sizeof(float)) != 0);
    int gone = 0;
    for (int i = 0; i < 2 * COUNT; i++) {
        CHECK(first[i] == 0 || fabsf(first[i] - 4.0f / 3) < 1e-6f);
        gone += first[i] == 0;
    }
    CHECK(gone > 2 * COUNT * 22 / 100 && gone < 2 * COUNT * 28 / 100); /* 25: 6 deviations */
    training_free(f.training);
    device_close(f.device);
    training_graph_release(&f.graph);
    arena_release(&f.network.graph.arena);
}

/* Gradients of activations, alone and in chains with what is around them: as the plain kernels. */
static void test_activations(void) {
    const struct training_options options = {.loss = TRAINING_CROSS_ENTROPY};
    static const char *const names[] = {
        "Relu",    "Clip", "Elu",     "Erf",      "Exp",  "HardSigmoid", "HardSwish", "LeakyRelu",
        "Softmax", "Selu", "Sigmoid", "Softplus", "Tanh", "Abs",         "Softsign"};
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        struct fixture fast, plain;
        start_with(&fast, names[k], &options, NULL, 2);
        start_with(&plain, names[k], &options, "reference", 1);
        float loss = run(&fast, NULL), wanted = run(&plain, NULL);
        CHECK(fabsf(loss - wanted) < 1e-5f * wanted);
        for (size_t i = 0; i < fast.graph.variable_count; i++) {
            size_t output = fast.graph.first_gradient + i;
            const float *a = fast.memory[output], *b = plain.memory[output];
            int64_t count = shape_count(&plain.outputs[output].shape);
            float most = 0, apart = 0;
            for (int64_t j = 0; j < count; j++) {
                most = fmaxf(most, fabsf(b[j]));
                apart = fmaxf(apart, fabsf(a[j] - b[j]));
            }
            CHECK(apart <= 2e-4f * most + 1e-5f); /* of a bias before a norm: rounding */
        }
        end(&fast);
        end(&plain);
    }
}

int main(void) {
    TEST(test_activations);
    TEST(test_loss_falls);
    TEST(test_ignored_class);
    TEST(test_hook_tells_when_gradients_are_made);
    TEST(test_threads_change_no_bit);
    TEST(test_norm_tells_its_statistics);
    TEST(test_equal_gradients);
    TEST(test_frozen_and_refused);
    TEST(test_dropout);
    return TEST_END();
}
