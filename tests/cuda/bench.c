// SPDX-License-Identifier: Apache-2.0
/* Speed of two networks on a GPU: the recorded steps alone, with the data in its memory, and
 * whole runs with the copies from and to ordinary memory.
 *     bench DEVICE FOLDER     FOLDER has johnson.onnx and resnet50.onnx
 * (tests/bench/make_models.py) */
#include "agent/engine/device/kernel.h"
#include "agent/engine/model.h"
#include "agent/engine/run/execution_plan.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 50 };

/* Items a second that the memory and the matrix units of an H200 allow in bfloat16, layer by layer;
 * every convolution reads its input once and writes its output once. */
static const struct row {
    const char *file, *name;
    struct shape shape;
    double roofline;
} rows[] = {
    {"johnson.onnx", "Johnson 1920x1080", {4, {1, 3, 1080, 1920}}, 1206},
    {"resnet50.onnx", "ResNet-50 batch 128", {4, {128, 3, 224, 224}}, 61000},
};

static void fill(struct tensor *tensor) {
    int64_t count = shape_count(&tensor->shape);
    uint32_t state = 12345;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        ((float *)tensor->data)[i] = (float)(state >> 24) / 255;
    }
}

/* Seconds of one pass over the steps; *ret_whole: of a whole run. */
static int measure(struct device *device, struct execution_plan *plan, const struct tensor *input,
                   double *ret_steps, double *ret_whole, struct error *err) {
    struct tensor *outputs = x_calloc(plan->graph->output_count, sizeof *outputs);
    void *block = NULL;
    int result = device->ops->alloc(device, plan->schedule->block_bytes, &block, err);
    for (int i = 0; i < 3 && result == 0; i++) { /* loads, records, replays */
        result = execution_plan_run(plan, block, input, outputs, NULL, err);
    }
    if (result == 0 && !plan->recording) {
        result = error_set(err, ERROR_UNSUPPORTED, "a step has to be done by the host");
    }
    int64_t began = clock_monotonic_ns();
    for (int i = 0; i < RUNS && result == 0; i++) {
        result = device->recording->replay(device, plan->recording, err);
    }
    result = result < 0 ? -1 : device->ops->sync(device, err);
    int64_t middle = clock_monotonic_ns();
    for (int i = 0; i < RUNS / 5 && result == 0; i++) {
        result = execution_plan_run(plan, block, input, outputs, NULL, err);
    }
    *ret_steps = (double)(middle - began) * 1e-9 / RUNS;
    *ret_whole = (double)(clock_monotonic_ns() - middle) * 1e-9 / (RUNS / 5);
    if (block) {
        device->ops->free(device, block);
    }
    free(outputs);
    return result;
}

static int run_row(struct device *device, const char *device_name, const char *folder,
                   const struct row *row, struct error *err) {
    char path[512];
    struct model *model = NULL;
    struct tensor input = {0};
    struct execution_plan *plan = NULL;
    double steps = 1, whole = 1;
    snprintf(path, sizeof path, "%s/%s", folder, row->file);
    int result = model_open(path, &model, err);
    result = result < 0 ? -1 : tensor_init(&input, TENSOR_FLOAT32, &row->shape, err);
    if (result == 0) {
        shape_fold_constants(&model->graph, device_evaluate);
        fill(&input);
        result = execution_plan_new(device, &model->graph, &input, &plan, err);
    }
    result = result < 0 ? -1 : measure(device, plan, &input, &steps, &whole, err);
    if (result == 0) {
        double items = (double)row->shape.dims[0];
        printf("%-14s %-22s %8.3f ms %10.1f/s %7.1f TFLOP/s %5.1f %% of the roofline; with copies "
               "%10.1f/s; %.0f MiB\n",
               device_name, row->name, steps * 1e3, items / steps, plan->flops / steps * 1e-12,
               100 * items / steps / row->roofline, items / whole,
               (double)plan->schedule->block_bytes / (1 << 20));
    }
    execution_plan_free(plan);
    tensor_release(&input);
    model_free(model);
    return result;
}

int main(int count, char **arguments) {
    struct error err = {0};
    struct device *device = NULL;
    if (count != 3) {
        fprintf(stderr, "bench: DEVICE and FOLDER are expected\n");
        return 2;
    }
    if (device_open(arguments[1], 1, &device, &err) < 0) {
        fprintf(stderr, "bench: %s\n", err.text);
        return 3;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows) && err.kind == ERROR_NONE; i++) {
        if (run_row(device, arguments[1], arguments[2], &rows[i], &err) < 0) {
            fprintf(stderr, "bench: %s: %s\n", rows[i].name, err.text);
        }
    }
    device_close(device);
    return err.kind ? 1 : 0;
}
