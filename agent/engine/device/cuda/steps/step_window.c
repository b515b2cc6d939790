// SPDX-License-Identifier: Apache-2.0
/* Pools, and convolutions that cuDNN does not support. */
#include "agent/engine/device/cuda/steps/step_window.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_reduce.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/table.h"

#include <math.h>
#include <string.h>

struct kernels_window step_window_of(const struct window *window, const struct shape *x,
                                     const struct shape *y) {
    struct kernels_window kernel = {
        .n = x->dims[0], .c = x->dims[1], .m = y->dims[1], .groups = MAX(window->groups, 1)};
    memcpy(kernel.in, window->in, sizeof kernel.in);
    memcpy(kernel.out, window->out, sizeof kernel.out);
    memcpy(kernel.kernel, window->kernel, sizeof kernel.kernel);
    memcpy(kernel.stride, window->stride, sizeof kernel.stride);
    memcpy(kernel.dilation, window->dilation, sizeof kernel.dilation);
    memcpy(kernel.pad_begin, window->pad_begin, sizeof kernel.pad_begin);
    memcpy(kernel.pad_end, window->pad_end, sizeof kernel.pad_end);
    return kernel;
}

static int conv_transpose_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_conv_transpose(task->params, task->inputs[0].data,
                                                task->inputs[1].data,
                                                task_has(task, 2) ? task->inputs[2].data : NULL,
                                                task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

int conv_transpose_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct window window;
    if (window_of_conv_transpose(task->node, prepare->inputs, &window, err) < 0) {
        return -1;
    }
    struct kernels_window *kernel = task->params = x_calloc(1, sizeof *kernel);
    *kernel = step_window_of(&window, &task->inputs[0].shape, &task->outputs[0].shape);
    task->run = conv_transpose_run;
    return 0;
}

/* ---- pools ---------------------------------------------------------------------------------- */

static int pool_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct kernels_window_channels_last *pool = task->params;
    const struct kernels_pool plain = {pool->window, pool->is_max, pool->counts_pads};
    return gpu_check(
        kernels_run_pool(&plain, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

static int pool_channels_last_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(kernels_run_pool_channels_last(task->params, task->inputs[0].data,
                                                    task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

int pool_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    struct window window;
    if (task->output_count > 1 && !task->outputs[1].is_absent) {
        return preparation_refuse(err, "a pool with the output Indices");
    }
    if (window_of_pool(task->node, prepare->inputs, &window, err) < 0) {
        return -1;
    }
    struct kernels_window_channels_last *pool = task->params = x_calloc(1, sizeof *pool);
    pool->window = step_window_of(&window, x, &task->outputs[0].shape);
    pool->is_max = task->node->op->id == OP_MAX_POOL;
    pool->counts_pads = !pool->is_max && node_integer(task->node, "count_include_pad", 0) != 0;
    pool->type = prepare->gpu->type;
    pool->pitch = (int)channels_last_pitch(x->dims[1]);
    pool->low = -INFINITY;
    pool->high = INFINITY;
    bool is_channels_last = preparation_is_channels_last(prepare, 0) && window.rank <= 2 &&
                            window.dilation[1] == 1 && window.dilation[2] == 1 &&
                            channels_last_fits(task->outputs[0].type, &task->outputs[0].shape);
    preparation_layout(prepare, is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR);
    task->run = is_channels_last ? pool_channels_last_run : pool_run;
    return 0;
}

static int global_channels_last_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct kernels_channels_last nhwc = channels_last_of(gpu, &task->inputs[0].shape);
    return gpu_check(kernels_run_global_pool_channels_last(
                         &nhwc, task->node->op->id == OP_GLOBAL_MAX_POOL, task->inputs[0].data,
                         task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

static int global_run(struct gpu *gpu, const struct task *task, struct error *err) {
    return gpu_check(
        kernels_run_reduce(task->params, task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

int global_pool_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->inputs[0].shape;
    if (preparation_is_channels_last(prepare, 0)) {
        preparation_layout(prepare, GPU_CHANNELS_LAST);
        task->run = global_channels_last_run;
        return 0;
    }
    if (x->rank < 3) {
        return preparation_refuse(err, "a pool without spatial axes");
    }
    struct kernels_channels_last nhwc = channels_last_of(prepare->gpu, x);
    struct kernels_reduce *reduce = task->params = x_calloc(1, sizeof *reduce);
    *reduce = (struct kernels_reduce){
        .kind = task->node->op->id == OP_GLOBAL_MAX_POOL ? KERNELS_REDUCE_MAX : KERNELS_REDUCE_MEAN,
        .kept_rank = 1,
        .gone_rank = 1,
        .kept = {nhwc.n * nhwc.channels},
        .kept_strides = {nhwc.pixels},
        .gone = {nhwc.pixels},
        .gone_strides = {1}};
    task->run = global_run;
    return 0;
}
