// SPDX-License-Identifier: Apache-2.0
/* Channels-last activations: the statistics of an instance norm in one pass, and in a second one
 * the norm, bounds, addition, doubling and padding together. Also Resize of row-major values. */
#include "agent/engine/device/cuda/fusion.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/device/cuda/packed_weights.h"
#include "agent/engine/ops/infer/resize.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct apply {
    struct kernels_apply kernel;
    struct kernels_moments moments;
    bool has_norm;
    int add; /* input; -1: none */
};

static int apply_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct apply *apply = task->params;
    struct kernels_apply kernel = apply->kernel;
    kernel.x = task->inputs[0].data;
    kernel.y = task->outputs[0].data;
    kernel.other = apply->add >= 0 ? task->inputs[apply->add].data : NULL;
    if (apply->has_norm) {
        struct kernels_moments moments = apply->moments;
        size_t factors = (size_t)moments.nhwc.n * (size_t)moments.nhwc.pitch * 2;
        moments.x = kernel.x;
        moments.factors = task->scratch;
        moments.partial = (float *)task->scratch + factors;
        kernel.factors = moments.factors;
        if (gpu_check(kernels_run_moments(&moments, gpu->stream), "a kernel", err) < 0) {
            return -1;
        }
    }
    return gpu_check(kernels_run_apply(&kernel, gpu->stream), "a kernel", err);
}

/* packed_weights.h keeps scale and shift of the norm, as biases without weights. */
static int moments_prepare(struct preparation *prepare, struct apply *apply, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    struct kernels_channels_last nhwc = channels_last_of(prepare->gpu, &task->inputs[0].shape);
    int64_t chunks = (nhwc.pixels + KERNELS_NORM_CHUNK - 1) / KERNELS_NORM_CHUNK;
    const float *numbers[2] = {preparation_weights(prepare->schedule, node, 1),
                               preparation_weights(prepare->schedule, node, 2)};
    void *memory[2], *unused;
    for (int i = 0; i < 2; i++) {
        struct packing pack = {.weights = numbers[i],
                               .bias = numbers[i],
                               .m = nhwc.channels,
                               .c = 1,
                               .taps = 1,
                               .is_depthwise = true};
        if (!numbers[i]) {
            return preparation_refuse(err, "a norm with computed weights");
        }
        if (packed_weights_get(prepare->gpu, &pack, &memory[i], &unused, err) < 0) {
            return -1;
        }
    }
    for (int i = 1; i < 3; i++) { /* not read any more */
        prepare->step->inputs[i] = -1;
        task->inputs[i].is_absent = true;
    }
    apply->has_norm = true;
    apply->moments = (struct kernels_moments){.nhwc = nhwc,
                                              .epsilon = node_number(node, "epsilon", 1e-5f),
                                              .gamma = memory[0],
                                              .beta = memory[1]};
    task->scratch_bytes = (size_t)(nhwc.n * nhwc.pitch * 2 * (1 + chunks)) * sizeof(float);
    return 0;
}

int apply_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape, *y = &task->outputs[0].shape;
    struct fused fused = fusion_of(prepare->step);
    if (!channels_last_fits(task->inputs[0].type, x) ||
        !channels_last_fits(task->outputs[0].type, y)) {
        return preparation_refuse(err, "an empty or huge activation");
    }
    struct apply *apply = task->params = x_calloc(1, sizeof *apply);
    apply->add = fused.add;
    apply->kernel = (struct kernels_apply){.type = prepare->gpu->type,
                                           .edge = fused.edge,
                                           .n = x->dims[0],
                                           .h = x->dims[2],
                                           .w = x->dims[3],
                                           .out_h = y->dims[2],
                                           .out_w = y->dims[3],
                                           .top = fused.top,
                                           .left = fused.left,
                                           .channels = (int)x->dims[1],
                                           .pitch = (int)channels_last_pitch(x->dims[1]),
                                           .repeat = fused.repeat,
                                           .low = fused.low,
                                           .high = fused.high};
    task->inputs[0].layout = task->outputs[0].layout = GPU_CHANNELS_LAST;
    if (fused.add >= 0) {
        task->inputs[fused.add].layout = GPU_CHANNELS_LAST;
    }
    task->run = apply_run;
    return task->node->op->id == OP_INSTANCE_NORMALIZATION ? moments_prepare(prepare, apply, err)
                                                           : 0;
}

/* ---- plain ---------------------------------------------------------------------------------- */

struct taps {
    struct kernels_resize kernel;
    struct gpu *gpu;
    void *taps; /* of the device */
};

static void taps_release(void *memory) {
    struct taps *taps = memory;
    if (taps->taps) {
        taps->gpu->base.ops->free(&taps->gpu->base, taps->taps);
    }
    free(taps);
}

static int taps_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct taps *taps = task->params;
    return gpu_check(kernels_run_resize(&taps->kernel, taps->taps, task->inputs[0].data,
                                        task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

/* The input pixels of each index of an output's dimension, as in device/cpu. */
static void fill_taps(const struct resize *resize, const struct shape *x, int axis, int64_t stride,
                      struct kernels_tap *taps) {
    int64_t size = x->dims[axis];
    for (int64_t i = 0; i < resize->output.dims[axis]; i++) {
        float source = resize_source(resize, x, axis, i), weight = 0;
        int64_t low, high;
        if (resize->output.dims[axis] == size && resize->scales[axis] == 1) {
            low = high = i;
        } else if (resize->is_linear) {
            source = fmaxf(0, fminf(source, (float)(size - 1)));
            low = MIN((int64_t)source, size - 1);
            high = MIN(low + 1, size - 1);
            weight = source - (float)low;
        } else {
            low = high = resize_nearest_pixel(resize, source, resize->scales[axis], size);
        }
        taps[i] = (struct kernels_tap){low * stride, high * stride, weight};
    }
}

int resize_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    struct device *device = &prepare->gpu->base;
    int64_t strides[TENSOR_RANK_MAX], count = 0;
    struct resize resize;
    if (prepare->step->state) {
        return apply_prepare(prepare, err);
    }
    if (resize_params(task->node, prepare->inputs, &resize, err) < 0) {
        return -1;
    }
    if (resize.is_cubic || resize.coordinates == RESIZE_TF_CROP) {
        return preparation_refuse(err, "a Resize of four neighbours, or of a part");
    }
    struct taps *taps = task->params = x_calloc(1, sizeof *taps);
    task->release = taps_release;
    taps->gpu = prepare->gpu;
    taps->kernel.rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        taps->kernel.dims[i] = resize.output.dims[i];
        taps->kernel.first[i] = count;
        count += resize.output.dims[i];
    }
    struct kernels_tap *host = x_calloc((size_t)count, sizeof *host);
    size_t size = (size_t)count * sizeof *host;
    task_strides(x, strides);
    for (int i = 0; i < x->rank; i++) {
        fill_taps(&resize, x, i, strides[i], host + taps->kernel.first[i]);
    }
    int result = device->ops->alloc(device, size, &taps->taps, err);
    result =
        result < 0 ? -1 : device->ops->copy(device, COPY_TO_DEVICE, taps->taps, host, size, err);
    free(host);
    task->run = taps_run;
    return result;
}
