// SPDX-License-Identifier: Apache-2.0
/* A hostile model for training: its training graph with either loss, and one step of it if that is
 * small. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/model.h"
#include "agent/engine/run/execution_plan.h"
#include "agent/engine/training.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCK_MAX = 1 << 20, INPUT_MAX = 1 << 16, FLOPS_MAX = 1 << 22, INPUTS_MAX = 64 };

/* Zeros, except for the weights. */
static int make_inputs(const struct graph *network, const struct training_graph *training,
                       const struct shape *output, struct tensor *inputs, struct error *err) {
    const struct graph *graph = &training->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i]];
        struct shape shape = value->shape;
        size_t weight = i - training->first_variable;
        if (i >= training->first_variable && weight < training->variable_count) {
            inputs[i] = network->values[training->variables[weight]].constant;
            inputs[i].owned = false;
            continue;
        }
        if (i == training->target) {
            shape = value->type == TENSOR_INT64 ? (struct shape){1, {2}} : *output;
        } else if (training->keys && i == training->keys) {
            shape = (struct shape){1, {2}};
        }
        for (int k = 0; k < shape.rank; k++) {
            shape.dims[k] = shape.dims[k] < 0 ? 2 : shape.dims[k];
        }
        if (shape_count(&shape) < 0 || shape_count(&shape) > INPUT_MAX ||
            tensor_init(&inputs[i], value->type, &shape, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void run(struct device *device, struct graph *graph, const struct tensor *inputs) {
    struct error err = {0};
    struct execution_plan *plan = NULL;
    void *block = NULL;
    struct tensor *outputs = calloc(graph->output_count, sizeof *outputs);
    if (execution_plan_new(device, graph, inputs, &plan, &err) == 0 &&
        plan->schedule->block_bytes <= BLOCK_MAX && plan->flops <= FLOPS_MAX &&
        device->ops->alloc(device, plan->schedule->block_bytes, &block, &err) == 0) {
        /* an error is allowed: only a crash is a finding */
        (void)!execution_plan_run(plan, block, inputs, outputs, NULL, &err);
    }
    free(block);
    free(outputs);
    execution_plan_free(plan);
}

static void train(struct device *device, const struct graph *network, enum training_loss loss,
                  const struct shape *output) {
    const struct training_options options = {.loss = loss, .smoothing = 0.1f};
    struct training_graph training;
    struct error err = {0};
    if (training_graph_build(network, &options, &training, &err) < 0) {
        return;
    }
    struct tensor inputs[INPUTS_MAX] = {0};
    if (training.graph.input_count <= INPUTS_MAX &&
        make_inputs(network, &training, output, inputs, &err) == 0 &&
        training_place_samples(&training, inputs, &err) == 0) {
        run(device, &training.graph, inputs);
    }
    for (size_t i = 0; i < INPUTS_MAX; i++) {
        tensor_release(&inputs[i]);
    }
    training_graph_release(&training);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct device *devices[2];
    struct error err = {0};
    struct model *model = NULL;
    if ((!devices[0] && (device_open("cpu", 1, &devices[0], &err) < 0 ||
                         device_open("reference", 1, &devices[1], &err) < 0)) ||
        model_from_bytes(data, size, &model, &err) < 0) {
        return 0;
    }
    const struct graph *graph = &model->graph;
    const struct value *output = graph->output_count ? &graph->values[graph->outputs[0]] : NULL;
    const struct shape one = {0};
    for (int i = 0; output && i < 4; i++) {
        train(devices[i / 2], graph, i % 2 ? TRAINING_MEAN_SQUARED : TRAINING_CROSS_ENTROPY,
              output->has_shape ? &output->shape : &one);
    }
    model_free(model);
    return 0;
}
