// SPDX-License-Identifier: Apache-2.0
/* Gradients of convolutions and pools. Convolutions use cuDNN, preferably with algorithms that give
 * the same bits in every run. Those that it does not support (pads that differ by side, three
 * dimensions, transposed ones) use simple, slow kernels of ours. */
#include "agent/engine/device/cuda/description.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_train.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/device/cuda/preparation.h"
#include "agent/engine/device/cuda/steps/step_window.h"

#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = 8, TAPS_MOST = 4096 };
static const size_t workspace_most = (size_t)1 << 30;

struct conv_gradient {
    /* First. In its window, `in` is the large activation, `out` the small one. */
    struct description description;
    bool is_transposed; /* x is the small activation, dy the large one */
    cudnnConvolutionBwdDataAlgo_t data;
    cudnnConvolutionBwdFilterAlgo_t filter;
    size_t workspace_bytes;
};

static void conv_gradient_release(void *memory) {
    description_release(memory);
    free(memory);
}

/* The step does not read an input that is known before the run, so it is not copied to the
 * device. */
static void drop_input(struct preparation *prepare, int index) {
    prepare->step->inputs[index] = -1;
    prepare->task->inputs[index].is_absent = true;
}

/* Reads the parameters, given the shapes of the forward x and w. */
static int read_window(const struct preparation *prepare, const struct shape *x,
                       const struct shape *w, struct conv_gradient *gradient, struct error *err) {
    struct node forward = op_forward_node(prepare->task->node);
    const struct fact facts[] = {{TENSOR_FLOAT32, *x, NULL}, {TENSOR_FLOAT32, *w, NULL}};
    const struct fact *inputs[] = {&facts[0], &facts[1]};
    struct window window;
    forward.input_count = 2;
    gradient->is_transposed = forward.op->id == OP_CONV_TRANSPOSE;
    if ((gradient->is_transposed ? window_of_conv_transpose(&forward, inputs, &window, err)
                                 : window_of_conv(&forward, inputs, &window, err)) < 0) {
        return -1;
    }
    for (int i = 0; i < WINDOW_RANK && gradient->is_transposed; i++) {
        int64_t small_side = window.in[i];
        window.in[i] = window.out[i];
        window.out[i] = small_side;
    }
    struct kernels_window *to = &gradient->description.window;
    *to = step_window_of(&window, x, x);
    to->m = w->dims[0];
    to->c = w->dims[1] * to->groups;
    return 0;
}

/* ---- what the library does ------------------------------------------------------------------ */

/* -1: cuDNN does not support it. `weights` is the filter or has its shape. */
static int describe(struct preparation *prepare, struct conv_gradient *gradient,
                    const struct task_operand *weights, struct error *err) {
    struct description *description = &gradient->description;
    const struct kernels_window *w = &description->window;
    bool is_even = w->pad_begin[1] == w->pad_end[1] && w->pad_begin[2] == w->pad_end[2];
    if (gradient->is_transposed || !is_even || !description_fits(w)) {
        return preparation_refuse(err, "the gradient of a convolution that cuDNN does not support");
    }
    description->is_channels_last =
        prepare->gpu->type != KERNELS_FLOAT32 && description_keeps_weights(weights, w) &&
        channels_last_fits(prepare->task->inputs[0].type, &prepare->task->inputs[0].shape);
    description->x_channels = description->is_channels_last ? channels_last_pitch(w->c) : w->c;
    description->y_channels = w->m;
    return gpu_check_dnn(prepare->gpu, (cudnnStatus_t)description_make(description),
                         "a convolution's description", err);
}

/* Chooses the algorithm that cuDNN considers fastest, among deterministic ones if there are any. */
static bool choose_data(struct conv_gradient *gradient) {
    struct description *description = &gradient->description;
    struct gpu *gpu = description->gpu;
    cudnnConvolutionBwdDataAlgoPerf_t found[ALGORITHMS];
    int count = 0;
    if (gpu->libraries.dnn.GetConvolutionBackwardDataAlgorithm_v7(
            gpu->dnn, description->filter, description->y, description->convolution, description->x,
            ALGORITHMS, &count, found) != CUDNN_STATUS_SUCCESS) {
        return false;
    }
    for (int i = 0; i < 2 * count; i++) {
        const cudnnConvolutionBwdDataAlgoPerf_t *one = &found[i % count];
        bool is_wanted = i >= count || one->determinism == CUDNN_DETERMINISTIC;
        if (is_wanted && one->status == CUDNN_STATUS_SUCCESS && one->memory <= workspace_most &&
            gpu->libraries.dnn.GetConvolutionBackwardDataWorkspaceSize(
                gpu->dnn, description->filter, description->y, description->convolution,
                description->x, one->algo, &gradient->workspace_bytes) == CUDNN_STATUS_SUCCESS) {
            gradient->data = one->algo;
            return true;
        }
    }
    return false;
}

static bool choose_filter(struct conv_gradient *gradient) {
    struct description *description = &gradient->description;
    struct gpu *gpu = description->gpu;
    cudnnConvolutionBwdFilterAlgoPerf_t found[ALGORITHMS];
    int count = 0;
    if (gpu->libraries.dnn.GetConvolutionBackwardFilterAlgorithm_v7(
            gpu->dnn, description->x, description->y, description->convolution, description->filter,
            ALGORITHMS, &count, found) != CUDNN_STATUS_SUCCESS) {
        return false;
    }
    for (int i = 0; i < 2 * count; i++) {
        const cudnnConvolutionBwdFilterAlgoPerf_t *one = &found[i % count];
        bool is_wanted = i >= count || one->determinism == CUDNN_DETERMINISTIC;
        if (is_wanted && one->status == CUDNN_STATUS_SUCCESS && one->memory <= workspace_most &&
            gpu->libraries.dnn.GetConvolutionBackwardFilterWorkspaceSize(
                gpu->dnn, description->x, description->y, description->convolution,
                description->filter, one->algo,
                &gradient->workspace_bytes) == CUDNN_STATUS_SUCCESS) {
            gradient->filter = one->algo;
            return true;
        }
    }
    return false;
}

/* ---- of the input --------------------------------------------------------------------------- */

static int data_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv_gradient *gradient = task->params;
    const struct description *description = &gradient->description;
    const float one = 1, zero = 0;
    return gpu_check_dnn(gpu,
                         gpu->libraries.dnn.ConvolutionBackwardData(
                             gpu->dnn, &one, description->filter, task->inputs[2].data,
                             description->y, task->inputs[0].data, description->convolution,
                             gradient->data, task->scratch, gradient->workspace_bytes, &zero,
                             description->x, task->outputs[0].data),
                         "a convolution backwards", err);
}

/* The gradient of a convolution is a transposed convolution with the same weights, and vice
 * versa. */
static int data_direct_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv_gradient *gradient = task->params;
    struct kernels_window w = gradient->description.window;
    if (gradient->is_transposed) {
        return gpu_check(kernels_run_conv(&w, task->inputs[0].data, task->inputs[2].data, NULL,
                                          task->outputs[0].data, gpu->stream),
                         "a kernel", err);
    }
    struct kernels_window turned = w;
    turned.c = w.m;
    turned.m = w.c;
    memcpy(turned.in, w.out, sizeof turned.in);
    memcpy(turned.out, w.in, sizeof turned.out);
    return gpu_check(kernels_run_conv_transpose(&turned, task->inputs[0].data, task->inputs[2].data,
                                                NULL, task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

/* (dy, shape of x, w) */
int conv_gradient_input_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct conv_gradient *gradient = task->params = x_calloc(1, sizeof *gradient);
    struct error why = {0};
    task->release = conv_gradient_release;
    gradient->description.gpu = prepare->gpu;
    if (read_window(prepare, &task->outputs[0].shape, &task->inputs[2].shape, gradient, err) < 0) {
        return -1;
    }
    if (describe(prepare, gradient, &task->inputs[2], &why) == 0 && choose_data(gradient)) {
        enum gpu_layout layout =
            gradient->description.is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR;
        task->inputs[0].layout = task->inputs[2].layout = task->outputs[0].layout = layout;
        task->scratch_bytes = gradient->workspace_bytes;
        task->run = data_run;
    } else if (why.kind == ERROR_EXHAUSTED) {
        *err = why;
        return -1;
    } else {
        task->run = data_direct_run;
    }
    drop_input(prepare, 1);
    return 0;
}

/* ---- of the weights ------------------------------------------------------------------------- */

/* Sums dy per channel; the scratch memory is free at this point. */
static int add_bias(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct task_operand *dy = &task->inputs[0];
    struct kernels_batch_norm sums = {.nhwc = channels_last_of(gpu, &dy->shape),
                                      .dy = dy->data,
                                      .dshift = task->outputs[1].data,
                                      .scratch = task->scratch};
    sums.nhwc.type = dy->layout == GPU_CHANNELS_LAST ? gpu->type : KERNELS_FLOAT32;
    return gpu_check(kernels_run_batch_norm(&sums, gpu->stream), "a kernel", err);
}

static bool has_bias(const struct task *task) {
    return task->output_count > 1 && !task->outputs[1].is_absent;
}

static int weights_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv_gradient *gradient = task->params;
    const struct description *description = &gradient->description;
    const float one = 1, zero = 0;
    if (gpu_check_dnn(gpu,
                      gpu->libraries.dnn.ConvolutionBackwardFilter(
                          gpu->dnn, &one, description->x, task->inputs[2].data, description->y,
                          task->inputs[0].data, description->convolution, gradient->filter,
                          task->scratch, gradient->workspace_bytes, &zero, description->filter,
                          task->outputs[0].data),
                      "a convolution backwards", err) < 0) {
        return -1;
    }
    return has_bias(task) ? add_bias(gpu, task, err) : 0;
}

static int weights_direct_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv_gradient *gradient = task->params;
    const float *dy = task->inputs[0].data, *x = task->inputs[2].data;
    int result = kernels_run_conv_weights(
        &gradient->description.window, gradient->is_transposed ? x : dy,
        gradient->is_transposed ? dy : x, task->outputs[0].data, gpu->stream);
    if (gpu_check(result, "a kernel", err) < 0) {
        return -1;
    }
    return has_bias(task) ? add_bias(gpu, task, err) : 0;
}

/* (dy, shape of w, x) -> dw[, dbias] */
int conv_gradient_weights_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    struct conv_gradient *gradient = task->params = x_calloc(1, sizeof *gradient);
    const struct shape *dy = &task->inputs[0].shape;
    struct kernels_batch_norm sums = {.nhwc = channels_last_of(prepare->gpu, dy)};
    struct error why = {0};
    bool is_channels_last = false;
    task->release = conv_gradient_release;
    gradient->description.gpu = prepare->gpu;
    if (shape_count(&task->inputs[0].shape) == 0 || shape_count(&task->inputs[2].shape) == 0) {
        return preparation_refuse(err, "the gradient of a convolution of an empty tensor");
    }
    if (read_window(prepare, &task->inputs[2].shape, &task->outputs[0].shape, gradient, err) < 0) {
        return -1;
    }
    if (describe(prepare, gradient, &task->outputs[0], &why) == 0 && choose_filter(gradient)) {
        is_channels_last = gradient->description.is_channels_last;
        task->inputs[0].layout = task->inputs[2].layout = task->outputs[0].layout =
            is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR;
        task->run = weights_run;
    } else if (why.kind == ERROR_EXHAUSTED) {
        *err = why;
        return -1;
    } else {
        gradient->workspace_bytes = 0;
        task->run = weights_direct_run;
    }
    sums.nhwc.type = is_channels_last ? prepare->gpu->type : KERNELS_FLOAT32;
    task->scratch_bytes =
        MAX(gradient->workspace_bytes, has_bias(task) ? kernels_batch_norm_bytes(&sums) : 0);
    drop_input(prepare, 1);
    return 0;
}

/* ---- pools ---------------------------------------------------------------------------------- */

static int pool_gradient_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct kernels_window_channels_last *pool = task->params;
    const struct kernels_pool plain = {pool->window, pool->is_max, pool->counts_pads};
    return gpu_check(
        kernels_run_pool_gradient(&plain, task_has(task, 2) ? task->inputs[2].data : NULL,
                                  task->inputs[0].data, task->outputs[0].data, gpu->stream),
        "a kernel", err);
}

static int pool_gradient_channels_last_run(struct gpu *gpu, const struct task *task,
                                           struct error *err) {
    return gpu_check(kernels_run_pool_gradient_channels_last(
                         task->params, task_has(task, 2) ? task->inputs[2].data : NULL,
                         task->inputs[0].data, task->outputs[0].data, gpu->stream),
                     "a kernel", err);
}

/* (dy, shape of x[, x]). The window of a global pool is as large as x, and each pixel reads its
 * whole window, so only small ones are supported. */
int pool_gradient_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct shape *x = &task->outputs[0].shape;
    struct node forward = op_forward_node(task->node);
    const struct fact fact = {TENSOR_FLOAT32, *x, NULL};
    const struct fact *inputs[] = {&fact};
    struct window window = {.rank = 1, .groups = 1};
    forward.input_count = 1;
    if (forward.op->id != OP_GLOBAL_MAX_POOL &&
        window_of_pool(&forward, inputs, &window, err) < 0) {
        return -1;
    }
    struct kernels_window_channels_last *pool = task->params = x_calloc(1, sizeof *pool);
    pool->window = step_window_of(&window, x, x);
    if (forward.op->id == OP_GLOBAL_MAX_POOL) { /* as one line */
        int64_t pixels = shape_count(x) / MAX(x->dims[0] * x->dims[1], 1);
        for (int i = 0; i < WINDOW_RANK; i++) {
            pool->window.in[i] = pool->window.kernel[i] = i < 2 ? 1 : pixels;
            pool->window.out[i] = pool->window.stride[i] = pool->window.dilation[i] = 1;
        }
    }
    const struct kernels_window *w = &pool->window;
    if (w->kernel[0] * w->kernel[1] * w->kernel[2] > TAPS_MOST) {
        return preparation_refuse(err, "the gradient of a huge window");
    }
    pool->is_max = forward.op->id != OP_AVERAGE_POOL;
    pool->counts_pads = !pool->is_max && node_integer(&forward, "count_include_pad", 0) != 0;
    pool->type = prepare->gpu->type;
    pool->pitch = (int)channels_last_pitch(x->dims[1]);
    bool has_channels_last = preparation_is_channels_last(prepare, 0) ||
                             (task_has(task, 2) && preparation_is_channels_last(prepare, 2));
    bool is_channels_last = has_channels_last && x->rank == 4 &&
                            forward.op->id != OP_GLOBAL_MAX_POOL && w->dilation[1] == 1 &&
                            w->dilation[2] == 1 && channels_last_fits(task->outputs[0].type, x) &&
                            channels_last_fits(task->inputs[0].type, &task->inputs[0].shape);
    preparation_layout(prepare, is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR);
    task->run = is_channels_last ? pool_gradient_channels_last_run : pool_gradient_run;
    drop_input(prepare, 1);
    return 0;
}
