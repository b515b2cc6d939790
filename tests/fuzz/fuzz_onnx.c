// SPDX-License-Identifier: Apache-2.0
/* A hostile model: reading, shape inference with small inputs, and one run if it is small. */
#include "agent/device/registry.h"
#include "agent/onnx/model.h"
#include "agent/ops/rewrite.h"
#include "agent/run/plan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCK_MAX = 1 << 20, INPUT_MAX = 1 << 16, FLOPS_MAX = 1 << 24, INPUTS_MAX = 8 };

static void run(struct device *device, const struct graph *graph, struct tensor *inputs) {
    struct error err = {0};
    struct plan *plan = NULL;
    void *block = NULL;
    struct tensor *outputs = calloc(graph->output_count, sizeof *outputs);
    if (plan_new(device, graph, inputs, &plan, &err) == 0 &&
        plan->schedule->block_bytes <= BLOCK_MAX && plan->flops <= FLOPS_MAX &&
        device->ops->alloc(device, plan->schedule->block_bytes, &block, &err) == 0) {
        (void)!plan_run(plan, block, inputs, outputs, &err);
    }
    free(block);
    free(outputs);
    plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct device *device;
    struct error err = {0};
    struct model *model = NULL;
    struct graph graph;
    struct tensor inputs[INPUTS_MAX] = {0};
    if ((!device && registry_open("cpu", 1, &device, &err) < 0) ||
        model_from_bytes(data, size, &model, &err) < 0) {
        return 0;
    }
    if (rewrite(&model->graph, &graph, &err) < 0) {
        model_free(model);
        return 0;
    }
    shape_fold_constants(&graph, registry_evaluate);
    bool is_small = graph.input_count <= INPUTS_MAX;
    for (size_t i = 0; is_small && i < graph.input_count; i++) {
        const struct value *value = &graph.values[graph.inputs[i]];
        struct shape shape = value->shape;
        for (int k = 0; k < shape.rank; k++) {
            shape.dims[k] = shape.dims[k] < 0 ? 2 : shape.dims[k];
        }
        is_small = shape_count(&shape) >= 0 && shape_count(&shape) <= INPUT_MAX &&
                   tensor_init(&inputs[i], value->type, &shape, &err) == 0;
    }
    if (is_small) {
        run(device, &graph, inputs);
    }
    for (size_t i = 0; i < INPUTS_MAX; i++) {
        tensor_release(&inputs[i]);
    }
    graph_release(&graph);
    model_free(model);
    return 0;
}
