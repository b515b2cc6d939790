// SPDX-License-Identifier: Apache-2.0
/* Prepares FromBytes and ToBytes: pixels as bytes to numbers, and back. */
#include "agent/engine/ops/bytes.h"

#include "agent/engine/device/cuda/kernels/kernels_bytes.h"
#include "agent/engine/device/cuda/preparation.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

/* floats: the float32 operand [n, 3, h, w], which is channels last if possible. */
static struct kernels_bytes *params_of(struct preparation *prepare, struct task_operand *floats) {
    struct task *task = prepare->task;
    const struct pixel_conversion bytes = bytes_params(task->node);
    const int64_t *dims = floats->shape.dims;
    bool is_channels_last =
        prepare->gpu->type != KERNELS_FLOAT32 && channels_last_fits(floats->type, &floats->shape);
    struct kernels_bytes *params = task->params = x_calloc(1, sizeof *params);
    *params =
        (struct kernels_bytes){.type = is_channels_last ? prepare->gpu->type : KERNELS_FLOAT32,
                               .n = dims[0],
                               .pixels = dims[2] * dims[3],
                               .width = dims[3],
                               .is_bgr = bytes.is_bgr};
    memcpy(params->scale, bytes.scale, sizeof bytes.scale);
    memcpy(params->shift, bytes.shift, sizeof bytes.shift);
    preparation_layout(prepare, GPU_ROW_MAJOR);
    floats->layout = is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR;
    return params;
}

static int from_bytes_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_from_bytes(task->params, task->inputs[0].data,
                                            task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

int from_bytes_prepare(struct preparation *prepare, struct error *err UNUSED) {
    params_of(prepare, &prepare->task->outputs[0]);
    prepare->task->run = from_bytes_run;
    return 0;
}

static int to_bytes_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct kernels_bytes *bytes = task->params;
    int32_t *bad =
        task->output_count > 1 && !task->outputs[1].is_absent ? task->outputs[1].data : NULL;
    size_t rows = (size_t)(bytes->n * (bytes->pixels / MAX(bytes->width, 1)));
    if (bad && gpu->base.ops->zero(&gpu->base, bad, rows * sizeof *bad, err) < 0) {
        return -1;
    }
    return gpu_check(
        kernels_run_to_bytes(bytes, task->inputs[0].data, task->outputs[0].data, bad, gpu->stream),
        "a kernel", err);
}

/* If the network's last layer has made planes, they are read without conversion. */
int to_bytes_prepare(struct preparation *prepare, struct error *err UNUSED) {
    struct task_operand *floats = &prepare->task->inputs[0];
    struct kernels_bytes *params = params_of(prepare, floats);
    if (!preparation_is_channels_last(prepare, 0)) {
        params->type = KERNELS_FLOAT32;
        floats->layout = GPU_ROW_MAJOR;
    }
    prepare->task->run = to_bytes_run;
    return 0;
}
