// SPDX-License-Identifier: Apache-2.0
/* A hostile model: reading, rewriting, folding, shape inference and the executor together, as a
 * session has them, with small inputs of two sizes. A model that needs much work or memory is not
 * run: to know this before is part of the test (-timeout, -malloc_limit_mb in run.sh). */
#include "agent/engine/device/kernel.h"
#include "agent/engine/model.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/run/execution_plan.h"
#include "agent/engine/run/stages/stages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCK_MAX = 1 << 20, INPUT_MAX = 1 << 16, INPUTS_MAX = 8 };
static const double work_max = 1 << 23;

/* Small numbers: as indices, lengths and axes they are often within bounds. */
static void fill(struct tensor *tensor, uint32_t state) {
    int64_t count = shape_count(&tensor->shape);
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        double whole = (double)(state >> 28) - 4;
        bool is_real = tensor_type_is_real(tensor->type);
        tensor_put_number(tensor, i, is_real ? whole + (double)(state >> 8) * 0x1p-24 : whole);
    }
}

/* Control flow and the like. A stage has no limit of memory before it runs. */
static void run_in_stages(struct device *device, const struct graph *graph, struct tensor *inputs) {
    struct error err = {0};
    struct tensor *outputs = calloc(graph->output_count + 1, sizeof *outputs);
    struct stages *stages = stages_new(device, graph, work_max);
    for (int round = 0; round < 2; round++) {
        error_clear(&err);
        (void)!stages_run(stages, inputs, outputs, &err);
    }
    stages_free(stages);
    free(outputs);
}

static void run(struct device *device, struct graph *graph, struct tensor *inputs) {
    struct error err = {0};
    struct execution_plan *plan = NULL;
    void *block = NULL;
    struct tensor *outputs = calloc(graph->output_count, sizeof *outputs);
    if (execution_plan_new(device, graph, inputs, &plan, &err) == 0 &&
        plan->schedule->block_bytes <= BLOCK_MAX && plan->work <= work_max &&
        device->ops->alloc(device, plan->schedule->block_bytes, &block, &err) == 0) {
        for (int round = 0; round < 2; round++) { /* a second run finds state that the first left */
            /* an error is allowed: only a crash is a finding */
            (void)!execution_plan_run(plan, block, inputs, outputs, NULL, &err);
        }
    }
    free(block);
    free(outputs);
    execution_plan_free(plan);
}

/* Dimensions of any size become `any`. */
static void run_with(struct device *device, struct graph *graph, int64_t any, uint32_t seed) {
    struct error err = {0};
    struct tensor inputs[INPUTS_MAX] = {0};
    bool is_small = graph->input_count <= INPUTS_MAX;
    for (size_t i = 0; is_small && i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i]];
        struct shape shape = value->shape;
        for (int k = 0; k < shape.rank; k++) {
            shape.dims[k] = shape.dims[k] < 0 ? any : shape.dims[k];
        }
        is_small = shape_count(&shape) >= 0 && shape_count(&shape) <= INPUT_MAX &&
                   tensor_init(&inputs[i], value->type, &shape, &err) == 0;
        if (is_small) {
            fill(&inputs[i], seed + (uint32_t)i);
        }
    }
    if (is_small && stages_needed(graph)) {
        run_in_stages(device, graph, inputs);
    } else if (is_small) {
        run(device, graph, inputs);
    }
    for (size_t i = 0; i < INPUTS_MAX; i++) {
        tensor_release(&inputs[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct device *devices[2];
    struct error err = {0};
    struct model *model = NULL;
    struct graph graph;
    if ((!devices[0] && (device_open("cpu", 1, &devices[0], &err) < 0 ||
                         device_open("reference", 1, &devices[1], &err) < 0)) ||
        model_from_bytes(data, size, &model, &err) < 0) {
        return 0;
    }
    if (stages_needed(&model->graph)) {
        run_with(devices[size & 1], &model->graph, 2, (uint32_t)size);
        model_free(model);
        return 0;
    }
    if (rewrite_graph(&model->graph, &graph, &err) < 0) {
        model_free(model);
        return 0;
    }
    shape_fold_constants(&graph, device_evaluate);
    uint32_t seed = (uint32_t)size;
    run_with(devices[seed & 1], &graph, 2, seed);
    run_with(devices[0], &graph, 3, seed + 1);
    graph_release(&graph);
    model_free(model);
    return 0;
}
