// SPDX-License-Identifier: Apache-2.0
/* Convolutions by cuDNN, with bias, addition and relu in the same call if it supports that; a
 * kernel of ours for depthwise ones, and another for convolutions that cuDNN does not support. */
#include "agent/engine/device/cuda/description.h"
#include "agent/engine/device/cuda/fusion.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/device/cuda/packed_weights.h"
#include "agent/engine/device/cuda/preparation.h"
#include "agent/engine/device/cuda/steps/step_window.h"

#include "agent/engine/ops/infer/norm.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = 8 };
static const size_t workspace_most = (size_t)1 << 30;

struct conv {
    struct description description; /* first, so that one release serves all */
    struct fused fused;
    bool has_bias;        /* the convolution's bias, or a norm's shift */
    void *weights, *bias; /* packed; NULL: inputs 1 and 2 */
    cudnnConvolutionFwdAlgo_t algorithm;
    size_t workspace_bytes;
    bool is_whole; /* whole numbers: no algorithm that rounds, no 16 bits (float16 ends at 65504) */
    bool tries_fused; /* until cuDNN reports that it has no such kernel */
};

static void conv_release(void *memory) {
    description_release(memory);
    free(memory);
}

/* ---- running -------------------------------------------------------------------------------- */

/* Applies bias, addition and bounds in a separate pass over y. */
static int finish(struct gpu *gpu, const struct conv *conv, const struct task *task,
                  const void *bias, struct error *err) {
    const struct kernels_window *w = &conv->description.window;
    const struct fused *fused = &conv->fused;
    struct kernels_finish finish = {
        .n = w->n,
        .c = w->m,
        .pixels = w->out[0] * w->out[1] * w->out[2],
        .type = conv->description.is_channels_last ? gpu->type : KERNELS_FLOAT32,
        .pitch = conv->description.is_channels_last ? (int)conv->description.y_channels : 0,
        .low = fused->low,
        .high = fused->high,
        .bias = bias,
        .other = fused->add < 0 ? NULL : task->inputs[fused->add].data};
    if (!bias && fused->add < 0 && !fused->has_bounds) {
        return 0;
    }
    return gpu_check(kernels_run_finish(&finish, task->outputs[0].data, gpu->stream), "a kernel",
                     err);
}

/* Pads x with zeros, so that the padding of cuDNN's convolution is symmetric. */
static int pad_image(struct gpu *gpu, const struct conv *conv, const void *x, void *to,
                     struct error *err) {
    const struct kernels_window *w = &conv->description.window;
    int64_t h = w->in[1] + w->pad_begin[1] + w->pad_end[1];
    int64_t v = w->in[2] + w->pad_begin[2] + w->pad_end[2];
    if (conv->description.is_channels_last) {
        struct kernels_apply apply = {.type = gpu->type,
                                      .edge = KERNELS_CONSTANT,
                                      .n = w->n,
                                      .h = w->in[1],
                                      .w = w->in[2],
                                      .out_h = h,
                                      .out_w = v,
                                      .top = w->pad_begin[1],
                                      .left = w->pad_begin[2],
                                      .channels = (int)w->c,
                                      .pitch = (int)conv->description.x_channels,
                                      .repeat = 1,
                                      .low = -INFINITY,
                                      .high = INFINITY,
                                      .x = x,
                                      .y = to};
        return gpu_check(kernels_run_apply(&apply, gpu->stream), "a kernel", err);
    }
    struct kernels_pad pad = {.size = sizeof(float),
                              .edge = KERNELS_CONSTANT,
                              .rank = 3,
                              .x_dims = {w->n * w->c, w->in[1], w->in[2]},
                              .y_dims = {w->n * w->c, h, v},
                              .begin = {0, w->pad_begin[1], w->pad_begin[2]}};
    return gpu_check(kernels_run_pad(&pad, x, NULL, to, gpu->stream), "a kernel", err);
}

static int call_fused(struct gpu *gpu, const struct conv *conv, const struct task *task,
                      const void *x, void *workspace) {
    const float one = 1, zero = 0;
    const struct fused *fused = &conv->fused;
    const void *other = fused->add < 0 ? task->outputs[0].data : task->inputs[fused->add].data;
    /* The bias in the device's type is stored after the float32 bias: packed_weights.h. */
    const void *bias =
        conv->description.is_channels_last
            ? (const void *)((const float *)conv->bias + conv->description.y_channels)
            : conv->bias;
    return (int)gpu->libraries.dnn.ConvolutionBiasActivationForward(
        gpu->dnn, &one, conv->description.x, x, conv->description.filter, conv->weights,
        conv->description.convolution, conv->algorithm, workspace, conv->workspace_bytes,
        fused->add < 0 ? &zero : &one, conv->description.y, other, conv->description.channel, bias,
        fused->has_bounds ? gpu->relu : gpu->identity, conv->description.y, task->outputs[0].data);
}

static int conv_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct conv *conv = task->params;
    const float one = 1, zero = 0;
    const void *x = task->inputs[0].data;
    const void *weights = conv->weights ? conv->weights : task->inputs[1].data;
    const void *bias = !conv->has_bias ? NULL : conv->weights ? conv->bias : task->inputs[2].data;
    char *workspace = task->scratch;
    if (conv->description.is_padded) {
        size_t padded = task->scratch_bytes - conv->workspace_bytes;
        if (pad_image(gpu, conv, x, workspace, err) < 0) {
            return -1;
        }
        x = workspace;
        workspace += padded;
    }
    if (conv->tries_fused) {
        cudnnStatus_t status = (cudnnStatus_t)call_fused(gpu, conv, task, x, workspace);
        /* from 2000 on: bad parameters; from 3000 on: not supported */
        if (status == CUDNN_STATUS_SUCCESS || (status / 1000 != 2 && status / 1000 != 3)) {
            return gpu_check_dnn(gpu, status, "a convolution", err);
        }
        conv->tries_fused = false;
    }
    cudnnStatus_t status = gpu->libraries.dnn.ConvolutionForward(
        gpu->dnn, &one, conv->description.x, x, conv->description.filter, weights,
        conv->description.convolution, conv->algorithm, workspace, conv->workspace_bytes, &zero,
        conv->description.y, task->outputs[0].data);
    return gpu_check_dnn(gpu, status, "a convolution", err) < 0
               ? -1
               : finish(gpu, conv, task, bias, err);
}

static int direct_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv *conv = task->params;
    const void *weights = conv->weights ? conv->weights : task->inputs[1].data;
    const void *bias = !conv->has_bias ? NULL : conv->weights ? conv->bias : task->inputs[2].data;
    int result = kernels_run_conv(&conv->description.window, task->inputs[0].data, weights, bias,
                                  task->outputs[0].data, gpu->stream);
    return gpu_check(result, "a kernel", err) < 0 ? -1 : finish(gpu, conv, task, NULL, err);
}

static int depthwise_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv *conv = task->params;
    struct kernels_window_channels_last kernel = {
        .window = conv->description.window,
        .type = gpu->type,
        .pitch = (int)conv->description.x_channels,
        .low = conv->fused.add < 0 ? conv->fused.low : -INFINITY,
        .high = conv->fused.add < 0 ? conv->fused.high : INFINITY};
    int result = kernels_run_depthwise(&kernel, task->inputs[0].data, conv->weights, conv->bias,
                                       task->outputs[0].data, gpu->stream);
    if (gpu_check(result, "a kernel", err) < 0) {
        return -1;
    }
    return conv->fused.add < 0 ? 0 : finish(gpu, conv, task, NULL, err);
}

/* ---- preparing ------------------------------------------------------------------------------ */

/* Constant weights are packed in device memory, with a following BatchNormalization folded in. */
static int pack(struct preparation *prepare, struct conv *conv, bool is_depthwise,
                struct error *err) {
    const struct node *node = prepare->task->node, *norm = conv->fused.norm;
    const struct kernels_window *w = &conv->description.window;
    struct packing pack = {.weights = preparation_weights(prepare->schedule, node, 1),
                           .bias = preparation_weights(prepare->schedule, node, 2),
                           .m = w->m,
                           .c = w->c / w->groups,
                           .taps = w->kernel[0] * w->kernel[1] * w->kernel[2],
                           .is_channels_last = conv->description.is_channels_last && !is_depthwise,
                           .is_depthwise = is_depthwise};
    pack.bias = conv->fused.drops_bias ? NULL : pack.bias;
    float *scale = NULL, *shift = NULL;
    if (norm) {
        const float *numbers[4];
        scale = x_calloc((size_t)w->m, sizeof *scale);
        shift = x_calloc((size_t)w->m, sizeof *shift);
        for (int i = 0; i < 4; i++) {
            numbers[i] = preparation_weights(prepare->schedule, norm, i + 1);
        }
        norm_batch_affine(norm, numbers, (size_t)w->m, scale, shift);
        pack.scale = scale;
        pack.shift = shift;
        pack.scale_key = numbers[0];
    }
    int result = packed_weights_get(prepare->gpu, &pack, &conv->weights, &conv->bias, err);
    free(scale);
    free(shift);
    return result;
}

/* Only one algorithm can add a bias without a relu; whole numbers take no transform. */
static bool allows(const struct conv *conv, cudnnConvolutionFwdAlgo_t algorithm) {
    bool is_identity = conv->tries_fused && !conv->fused.has_bounds;
    return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
           (!is_identity &&
            (!conv->is_whole || algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
}

/* Chooses the algorithm that cuDNN considers fastest and that fits into the workspace. False: none.
 */
static bool choose_algorithm(struct conv *conv) {
    struct gpu *gpu = conv->description.gpu;
    cudnnConvolutionFwdAlgoPerf_t found[ALGORITHMS];
    int count = 0;
    if (gpu->libraries.dnn.GetConvolutionForwardAlgorithm_v7(
            gpu->dnn, conv->description.x, conv->description.filter, conv->description.convolution,
            conv->description.y, ALGORITHMS, &count, found) != CUDNN_STATUS_SUCCESS) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= workspace_most &&
            allows(conv, found[i].algo) &&
            gpu->libraries.dnn.GetConvolutionForwardWorkspaceSize(
                gpu->dnn, conv->description.x, conv->description.filter,
                conv->description.convolution, conv->description.y, found[i].algo,
                &conv->workspace_bytes) == CUDNN_STATUS_SUCCESS) {
            conv->algorithm = found[i].algo;
            return true;
        }
    }
    return false;
}

/* Prepares cuDNN; -1: it does not support this convolution, and the caller uses another kernel. */
static int conv_library(struct preparation *prepare, struct conv *conv, struct error *err) {
    struct task *task = prepare->task;
    const struct kernels_window *w = &conv->description.window;
    const struct fused *fused = &conv->fused;
    bool is_relu = !fused->has_bounds || (fused->low == 0 && isinf(fused->high));
    bool has_more = fused->add >= 0 || fused->has_bounds || conv->has_bias;
    conv->description.is_padded =
        w->pad_begin[1] != w->pad_end[1] || w->pad_begin[2] != w->pad_end[2];
    conv->tries_fused = conv->weights && is_relu && has_more;
    if (gpu_check_dnn(prepare->gpu, (cudnnStatus_t)description_make(&conv->description),
                      "a convolution's description", err) < 0) {
        return -1;
    }
    if (!choose_algorithm(conv)) {
        conv->tries_fused = false;
        if (!choose_algorithm(conv)) {
            return preparation_refuse(err, "a convolution that cuDNN does not support");
        }
    }
    size_t padded = 0;
    if (conv->description.is_padded) {
        int64_t h = w->in[1] + w->pad_begin[1] + w->pad_end[1];
        int64_t v = w->in[2] + w->pad_begin[2] + w->pad_end[2];
        padded = (size_t)(w->n * conv->description.x_channels * h * v) *
                 (conv->description.is_channels_last ? 2 : sizeof(float));
        padded = (padded + TASK_ALIGNMENT - 1) / TASK_ALIGNMENT * TASK_ALIGNMENT;
    }
    task->scratch_bytes = padded + conv->workspace_bytes;
    task->run = conv_run;
    return 0;
}

static bool is_one_a_channel(const struct kernels_window *w) {
    return w->groups > 1 && w->groups == w->c && w->m == w->c;
}

/* Channels last is possible with constant weights and groups that fill whole lanes (or depthwise);
 * or with weights that are channels last, as cuDNN's filter, if their filters fill whole lanes. */
static bool may_be_channels_last(const struct preparation *prepare, const struct conv *conv,
                                 bool is_packed) {
    const struct task *task = prepare->task;
    const struct kernels_window *w = &conv->description.window;
    bool is_whole =
        w->groups == 1 || is_one_a_channel(w) ||
        (w->c / w->groups % KERNELS_LANES == 0 && w->m / w->groups % KERNELS_LANES == 0);
    bool is_filter = is_packed ? is_whole : description_keeps_weights(&task->inputs[1], w);
    return prepare->gpu->type != KERNELS_FLOAT32 && !conv->is_whole && is_filter &&
           description_fits(w) &&
           channels_last_fits(task->inputs[0].type, &task->inputs[0].shape) &&
           channels_last_fits(task->outputs[0].type, &task->outputs[0].shape);
}

/* Tries one implementation; ERROR_UNSUPPORTED: try the next. */
static int try_layout(struct preparation *prepare, bool is_channels_last, bool is_packed,
                      struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    struct window window;
    if (window_of_conv(node, prepare->inputs, &window, err) < 0) {
        return -1;
    }
    struct conv *conv = task->params = x_calloc(1, sizeof *conv);
    task->release = conv_release;
    conv->description.gpu = prepare->gpu;
    conv->is_whole = node_integer(node, PARAM_IS_WHOLE, 0) != 0;
    conv->fused = fusion_of(prepare->step);
    conv->description.window =
        step_window_of(&window, &task->inputs[0].shape, &task->outputs[0].shape);
    struct kernels_window *w = &conv->description.window;
    conv->has_bias = conv->fused.norm ||
                     (node->input_count > 2 && node->inputs[2] >= 0 && !conv->fused.drops_bias);
    conv->description.is_channels_last = is_channels_last;
    if (is_channels_last && !may_be_channels_last(prepare, conv, is_packed)) {
        return preparation_refuse(err, "a convolution that needs channels first");
    }
    conv->description.x_channels = is_channels_last ? channels_last_pitch(w->c) : w->c;
    conv->description.y_channels = is_channels_last ? channels_last_pitch(w->m) : w->m;
    preparation_layout(prepare, is_channels_last ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR);
    for (int i = 1; i < MIN(node->input_count, 3); i++) { /* not read if they are packed */
        task->inputs[i].layout =
            is_channels_last && !is_packed && i == 1 ? GPU_CHANNELS_LAST : GPU_ROW_MAJOR;
    }
    bool is_depthwise = is_channels_last && is_one_a_channel(w);
    if (is_packed && pack(prepare, conv, is_depthwise, err) < 0) {
        return -1;
    }
    if (is_depthwise) {
        task->run = depthwise_run;
        return 0;
    }
    if (description_fits(w) && conv_library(prepare, conv, err) == 0) {
        return 0;
    }
    task->scratch_bytes = 0;
    task->run = direct_run;
    return is_channels_last || err->kind == ERROR_EXHAUSTED ? -1 : 0;
}

int conv_prepare(struct preparation *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    bool has_bias = node->input_count > 2 && node->inputs[2] >= 0;
    bool is_packed = preparation_weights(prepare->schedule, node, 1) &&
                     (!has_bias || preparation_weights(prepare->schedule, node, 2));
    int result = try_layout(prepare, true, is_packed, err);
    if (result < 0 && err->kind == ERROR_UNSUPPORTED) {
        if (task->params) {
            conv_release(TAKE(task->params));
        }
        error_clear(err);
        result = try_layout(prepare, false, is_packed, err);
    }
    for (int i = 1; i < MIN(node->input_count, 3) && is_packed && result == 0; i++) {
        prepare->step->inputs[i] = -1;
        task->inputs[i].is_absent = true;
    }
    return result;
}
