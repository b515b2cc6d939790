// SPDX-License-Identifier: Apache-2.0
/* Speed of training ResNet-50 on a GPU: steps of forward, backward and SGD with momentum, pictures
 * and weights in its memory.
 *     train_bench DEVICE BATCH [STEPS [SIDE]]
 * Two ways: steps started one by one, as the trainer does, which sends buckets during backward; and
 * the whole step as one recording. The last line is a row of JSON. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/builder.h"
#include "agent/engine/model.h"
#include "agent/engine/ops/infer/optimizer_step.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/training.h"
#include "lib/time/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 1000, WARM_UP = 3 };

struct bench {
    struct device *device;
    int64_t batch, side;
    struct graph network;
    struct training_graph graph;
    struct graph optimizer;
    struct tensor *inputs, *outputs, *optimizer_inputs, *optimizer_outputs;
    void **weights, **gradients, **velocities, *pictures;
    int64_t *labels;
    float scale, numbers[OPTIMIZER_NUMBERS];
    struct training *training, *step;
};

static int numbers_new(struct bench *bench, int64_t count, const float *from, void **ret,
                       struct error *err) {
    const struct device_ops *ops = bench->device->ops;
    size_t bytes = (size_t)count * sizeof(float);
    if (ops->alloc(bench->device, bytes, ret, err) < 0) {
        return -1;
    }
    return from ? ops->copy(bench->device, COPY_TO_DEVICE, *ret, from, bytes, err)
                : ops->zero(bench->device, *ret, bytes, err);
}

static const struct value *variable(const struct bench *bench, size_t i) {
    return &bench->network.values[bench->graph.variables[i]];
}

/* (w, g, numbers, v) -> w', v' of each variable, in one graph. */
static void build_optimizer(struct bench *bench) {
    const struct attribute attributes[] = {
        {.name = "kind", .kind = ATTRIBUTE_INTEGER, .integer = OPTIMIZER_STEP_MOMENTUM}};
    const struct shape shape = {1, {OPTIMIZER_NUMBERS}};
    struct builder builder;
    builder_init(&builder, NULL);
    int numbers = builder_input(&builder, "numbers", TENSOR_FLOAT32, &shape);
    for (size_t i = 0; i < bench->graph.variable_count; i++) {
        const struct shape flat = {1, {shape_count(&variable(bench, i)->shape)}};
        int inputs[4] = {[2] = numbers};
        for (int k = 0; k < 4; k++) {
            inputs[k] = k == 2 ? numbers : builder_input(&builder, "v", TENSOR_FLOAT32, &flat);
        }
        const struct builder_new_node node = {.op = op_of_id(OP_OPTIMIZER_STEP),
                                              .name = "step",
                                              .input_count = 4,
                                              .output_count = 2,
                                              .inputs = inputs,
                                              .attribute_count = 1,
                                              .attributes = attributes};
        int first = builder_node(&builder, &node);
        builder_output(&builder, first);
        builder_output(&builder, first + 1);
    }
    builder_take(&builder, &bench->optimizer);
}

static int open_optimizer(struct bench *bench, struct error *err) {
    build_optimizer(bench);
    struct graph *graph = &bench->optimizer;
    bool *is_bound = x_malloc(graph->output_count);
    memset(is_bound, true, graph->output_count);
    bench->optimizer_inputs = x_calloc(graph->input_count, sizeof *bench->optimizer_inputs);
    bench->optimizer_outputs = x_calloc(graph->output_count, sizeof *bench->optimizer_outputs);
    for (size_t i = 0; i < graph->input_count; i++) {
        bench->optimizer_inputs[i].shape = graph->values[graph->inputs[i]].shape;
    }
    bench->optimizer_inputs[0].data = bench->numbers;
    int result =
        training_open(bench->device, graph, bench->optimizer_inputs, is_bound, &bench->step, err);
    free(is_bound);
    for (size_t i = 0; result == 0 && i < bench->graph.variable_count; i++) {
        training_bind_input(bench->step, 1 + 3 * i, bench->weights[i]);
        training_bind_input(bench->step, 2 + 3 * i, bench->gradients[i]);
        training_bind_input(bench->step, 3 + 3 * i, bench->velocities[i]);
        training_bind(bench->step, 2 * i, bench->weights[i]);
        training_bind(bench->step, 2 * i + 1, bench->velocities[i]);
    }
    return result;
}

/* Pictures of noise, and labels that these can be learned by: the loss must fall. */
static int fill_data(struct bench *bench, struct error *err) {
    int64_t each = 3 * bench->side * bench->side;
    float *pictures = x_calloc((size_t)(bench->batch * each), sizeof *pictures);
    uint32_t state = 12345;
    for (int64_t i = 0; i < bench->batch * each; i++) {
        state = state * 1664525 + 1013904223;
        pictures[i] = (float)(state >> 8) * 0x1p-23f - 1;
    }
    bench->labels = x_calloc((size_t)bench->batch, sizeof *bench->labels);
    for (int64_t i = 0; i < bench->batch; i++) {
        bench->labels[i] = i % 10;
    }
    int result = numbers_new(bench, bench->batch * each, pictures, &bench->pictures, err);
    free(pictures);
    return result;
}

static int open_training(struct bench *bench, struct error *err) {
    struct training_graph *graph = &bench->graph;
    size_t count = graph->variable_count;
    bool *is_bound = x_calloc(graph->graph.output_count, sizeof *is_bound);
    bench->inputs = x_calloc(graph->graph.input_count, sizeof *bench->inputs);
    bench->outputs = x_calloc(graph->graph.output_count, sizeof *bench->outputs);
    bench->inputs[0] = (struct tensor){
        TENSOR_FLOAT32, {4, {bench->batch, 3, bench->side, bench->side}}, NULL, false};
    bench->inputs[graph->target] =
        (struct tensor){TENSOR_INT64, {1, {bench->batch}}, bench->labels, false};
    bench->scale = 1 / (float)bench->batch;
    bench->inputs[graph->scale] = (struct tensor){TENSOR_FLOAT32, {0}, &bench->scale, false};
    for (size_t i = 0; i < count; i++) {
        bench->inputs[graph->first_variable + i] =
            (struct tensor){TENSOR_FLOAT32, variable(bench, i)->shape, NULL, false};
        is_bound[graph->first_gradient + i] = true;
    }
    int result =
        training_open(bench->device, &graph->graph, bench->inputs, is_bound, &bench->training, err);
    free(is_bound);
    for (size_t i = 0; result == 0 && i < count; i++) {
        training_bind_input(bench->training, graph->first_variable + i, bench->weights[i]);
        training_bind(bench->training, graph->first_gradient + i, bench->gradients[i]);
    }
    if (result == 0) {
        training_bind_input(bench->training, 0, bench->pictures);
    }
    return result;
}

static int open_bench(struct bench *bench, bool is_bfloat, struct error *err) {
    const struct network_options options = {
        .classes = CLASSES, .shape = {3, bench->side, bench->side}, .seed = 42};
    const struct training_options loss = {.is_bfloat = is_bfloat};
    if (network_new(NETWORK_RESNET50, &options, &bench->network, err) < 0 ||
        training_graph_build(&bench->network, &loss, &bench->graph, err) < 0) {
        return -1;
    }
    size_t count = bench->graph.variable_count;
    bench->weights = x_calloc(3 * count, sizeof *bench->weights);
    bench->gradients = bench->weights + count;
    bench->velocities = bench->gradients + count;
    for (size_t i = 0; i < count; i++) {
        int64_t numbers = shape_count(&variable(bench, i)->shape);
        if (numbers_new(bench, numbers, variable(bench, i)->constant.data, &bench->weights[i],
                        err) < 0 ||
            numbers_new(bench, numbers, NULL, &bench->gradients[i], err) < 0 ||
            numbers_new(bench, numbers, NULL, &bench->velocities[i], err) < 0) {
            return -1;
        }
    }
    bench->numbers[OPTIMIZER_RATE] = 0.02f;
    bench->numbers[OPTIMIZER_BETA1] = 0.9f;
    bench->numbers[OPTIMIZER_GRADIENT] = 1;
    bench->numbers[OPTIMIZER_LIMIT] = INFINITY;
    return fill_data(bench, err) < 0 || open_training(bench, err) < 0 ? -1
                                                                      : open_optimizer(bench, err);
}

static int nothing(void *context UNUSED, size_t step UNUSED, struct error *err UNUSED) {
    return 0;
}

/* Seconds a step; the losses of the first and the last. */
static int measure(struct bench *bench, int steps, bool is_recorded, double *ret_seconds,
                   float losses[2], struct error *err) {
    const struct training_hook hook = {nothing, NULL};
    int64_t began = 0;
    for (int i = 0; i < WARM_UP + steps; i++) {
        began = i == WARM_UP ? clock_monotonic_ns() : began;
        if (training_run(bench->training, bench->inputs, bench->outputs, is_recorded ? NULL : &hook,
                         err) < 0 ||
            training_run(bench->step, bench->optimizer_inputs, bench->optimizer_outputs, NULL,
                         err) < 0) {
            return -1;
        }
        losses[i > 0] = *(const float *)bench->outputs[0].data;
    }
    if (bench->device->ops->sync(bench->device, err) < 0) {
        return -1;
    }
    *ret_seconds = (double)(clock_monotonic_ns() - began) * 1e-9 / steps;
    return isfinite(losses[1]) ? 0
                               : error_set(err, ERROR_FAILED, "the loss is %g", (double)losses[1]);
}

int main(int count, char **arguments) {
    static const char *const ways[] = {"step by step", "recorded"};
    struct bench bench = {.side = 224};
    struct error err = {0};
    double rates[2];
    float losses[2] = {0, 0}, first = 0;
    if (count < 3 || (bench.batch = strtoll(arguments[2], NULL, 10)) < 1) {
        fprintf(stderr, "train_bench: DEVICE BATCH [STEPS [SIDE]] are expected\n");
        return 2;
    }
    int steps = count > 3 ? (int)MAX(strtol(arguments[3], NULL, 10), 1) : 30;
    bench.side = count > 4 ? strtoll(arguments[4], NULL, 10) : bench.side;
    if (device_open(arguments[1], 1, &bench.device, &err) < 0) {
        fprintf(stderr, "train_bench: %s\n", err.text);
        return 3;
    }
    int result = open_bench(&bench, strstr(arguments[1], "bfloat16") != NULL, &err);
    for (int way = 0; way < 2 && result == 0; way++) {
        double seconds;
        result = measure(&bench, steps, way == 1, &seconds, losses, &err);
        if (result == 0) {
            first = way == 0 ? losses[0] : first;
            rates[way] = (double)bench.batch / seconds;
            printf("%-14s ResNet-50 training, batch %lld, %-12s %8.3f ms %9.1f/s, loss %.3f\n",
                   arguments[1], (long long)bench.batch, ways[way], seconds * 1e3, rates[way],
                   (double)losses[1]);
        }
    }
    if (result < 0) { /* the process ends and frees all memory */
        fprintf(stderr, "train_bench: %s: %s\n", arguments[1], err.text);
        return 1;
    }
    printf("{\"device\": \"%s\", \"batch\": %lld, \"step_by_step\": %.1f, \"recorded\": %.1f, "
           "\"first_loss\": %.4f, \"last_loss\": %.4f}\n",
           arguments[1], (long long)bench.batch, rates[0], rates[1], (double)first,
           (double)losses[1]);
    return 0;
}
