// SPDX-License-Identifier: Apache-2.0
/* Convolutions: cuDNN's, with bias, addition and relu in the same call where it has that; a kernel
 * of ours for one filter a channel, and one for what cuDNN does not take. */
#include "agent/device/cuda/fuse.h"
#include "agent/device/cuda/gpu.h"
#include "agent/device/cuda/pack.h"
#include "agent/device/cuda/window.h"

#include "agent/ops/table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALGORITHMS = 8 };
static const size_t workspace_most = (size_t)1 << 30;

struct conv {
    struct gpu *gpu;
    struct kernels_window window;
    struct fused fused;
    bool is_last;
    bool has_bias;                  /* of its own, or a norm's shift */
    void *weights, *bias;           /* packed; NULL: inputs 1 and 2 */
    int64_t x_channels, y_channels; /* with padding, where it is channels last */
    /* cuDNN's */
    cudnnTensorDescriptor_t x, y, channel;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t convolution;
    cudnnConvolutionFwdAlgo_t algorithm;
    size_t workspace_bytes;
    bool is_padded;   /* x is padded into scratch memory first: its pads differ by side */
    bool tries_fused; /* until cuDNN says that it has no such kernel */
};

static void conv_release(void *memory) {
    struct conv *conv = memory;
    struct libraries *libraries = &conv->gpu->libraries;
    const cudnnTensorDescriptor_t tensors[] = {conv->x, conv->y, conv->channel};
    for (size_t i = 0; i < ARRAY_LEN(tensors); i++) {
        if (tensors[i]) {
            libraries->dnn.DestroyTensorDescriptor(tensors[i]);
        }
    }
    if (conv->filter) {
        libraries->dnn.DestroyFilterDescriptor(conv->filter);
    }
    if (conv->convolution) {
        libraries->dnn.DestroyConvolutionDescriptor(conv->convolution);
    }
    free(conv);
}

/* ---- running -------------------------------------------------------------------------------- */

/* Bias, addition and bounds in a pass of their own, over y. */
static int finish(struct gpu *gpu, const struct conv *conv, const struct task *task,
                  const void *bias, struct error *err) {
    const struct kernels_window *w = &conv->window;
    const struct fused *fused = &conv->fused;
    struct kernels_finish finish = {.n = w->n,
                                    .c = w->m,
                                    .pixels = w->out[0] * w->out[1] * w->out[2],
                                    .type = conv->is_last ? gpu->type : KERNELS_FLOAT32,
                                    .pitch = conv->is_last ? (int)conv->y_channels : 0,
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

/* Zeros around x, so that all sides of what cuDNN sees are alike. */
static int pad_picture(struct gpu *gpu, const struct conv *conv, const void *x, void *to,
                       struct error *err) {
    const struct kernels_window *w = &conv->window;
    int64_t h = w->in[1] + w->pad_begin[1] + w->pad_end[1];
    int64_t v = w->in[2] + w->pad_begin[2] + w->pad_end[2];
    if (conv->is_last) {
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
                                      .pitch = (int)conv->x_channels,
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
    /* The bias in the device's type lies behind that in float32: pack.h. */
    const void *bias =
        conv->is_last ? (const void *)((const float *)conv->bias + conv->y_channels) : conv->bias;
    return (int)gpu->libraries.dnn.ConvolutionBiasActivationForward(
        gpu->dnn, &one, conv->x, x, conv->filter, conv->weights, conv->convolution, conv->algorithm,
        workspace, conv->workspace_bytes, fused->add < 0 ? &zero : &one, conv->y, other,
        conv->channel, bias, fused->has_bounds ? gpu->relu : gpu->identity, conv->y,
        task->outputs[0].data);
}

static int conv_run(struct gpu *gpu, const struct task *task, struct error *err) {
    struct conv *conv = task->params;
    const float one = 1, zero = 0;
    const void *x = task->inputs[0].data;
    const void *weights = conv->weights ? conv->weights : task->inputs[1].data;
    const void *bias = !conv->has_bias ? NULL : conv->weights ? conv->bias : task->inputs[2].data;
    char *workspace = task->scratch;
    if (conv->is_padded) {
        size_t padded = task->scratch_bytes - conv->workspace_bytes;
        if (pad_picture(gpu, conv, x, workspace, err) < 0) {
            return -1;
        }
        x = workspace;
        workspace += padded;
    }
    if (conv->tries_fused) {
        cudnnStatus_t status = (cudnnStatus_t)call_fused(gpu, conv, task, x, workspace);
        /* 2000 and on: a bad parameter; 3000 and on: not supported. */
        if (status == CUDNN_STATUS_SUCCESS || (status / 1000 != 2 && status / 1000 != 3)) {
            return gpu_check_dnn(gpu, status, "a convolution", err);
        }
        conv->tries_fused = false;
    }
    cudnnStatus_t status = gpu->libraries.dnn.ConvolutionForward(
        gpu->dnn, &one, conv->x, x, conv->filter, weights, conv->convolution, conv->algorithm,
        workspace, conv->workspace_bytes, &zero, conv->y, task->outputs[0].data);
    return gpu_check_dnn(gpu, status, "a convolution", err) < 0
               ? -1
               : finish(gpu, conv, task, bias, err);
}

static int direct_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv *conv = task->params;
    const void *weights = conv->weights ? conv->weights : task->inputs[1].data;
    const void *bias = !conv->has_bias ? NULL : conv->weights ? conv->bias : task->inputs[2].data;
    int result = kernels_run_conv(&conv->window, task->inputs[0].data, weights, bias,
                                  task->outputs[0].data, gpu->stream);
    return gpu_check(result, "a kernel", err) < 0 ? -1 : finish(gpu, conv, task, NULL, err);
}

static int depthwise_run(struct gpu *gpu, const struct task *task, struct error *err) {
    const struct conv *conv = task->params;
    struct kernels_window_last kernel = {.window = conv->window,
                                         .type = gpu->type,
                                         .pitch = (int)conv->x_channels,
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

/* Weights of constants lie packed in the device, with a BatchNormalization behind them in them. */
static int pack(struct prepare *prepare, struct conv *conv, bool is_depthwise, struct error *err) {
    const struct node *node = prepare->task->node, *norm = conv->fused.norm;
    const struct kernels_window *w = &conv->window;
    struct pack pack = {.weights = prepare_weights(prepare->schedule, node, 1),
                        .bias = prepare_weights(prepare->schedule, node, 2),
                        .m = w->m,
                        .c = w->c / w->groups,
                        .taps = w->kernel[0] * w->kernel[1] * w->kernel[2],
                        .is_last = conv->is_last && !is_depthwise,
                        .is_depthwise = is_depthwise};
    pack.bias = conv->fused.drops_bias ? NULL : pack.bias;
    float *scale = NULL, *shift = NULL;
    if (norm) {
        const float *numbers[4];
        double epsilon = (double)node_number(norm, "epsilon", 1e-5f);
        scale = x_calloc((size_t)w->m, sizeof *scale);
        shift = x_calloc((size_t)w->m, sizeof *shift);
        for (int i = 0; i < 4; i++) {
            numbers[i] = prepare_weights(prepare->schedule, norm, i + 1);
        }
        for (int64_t i = 0; i < w->m; i++) {
            double factor = (double)numbers[0][i] / sqrt((double)numbers[3][i] + epsilon);
            scale[i] = (float)factor;
            shift[i] = (float)((double)numbers[1][i] - (double)numbers[2][i] * factor);
        }
        pack.scale = scale;
        pack.shift = shift;
        pack.scale_key = numbers[0];
    }
    int result = pack_weights(prepare->gpu, &pack, &conv->weights, &conv->bias, err);
    free(scale);
    free(shift);
    return result;
}

/* Numbers that cuDNN counts in ints, of two dimensions. */
static bool is_modest(const struct kernels_window *w) {
    int64_t channels = last_pitch(MAX(w->c, w->m));
    int64_t pixels = MAX(w->in[1] + w->pad_begin[1] + w->pad_end[1], w->out[1]) *
                     MAX(w->in[2] + w->pad_begin[2] + w->pad_end[2], w->out[2]);
    bool modest = pixels > 0 && pixels < INT_MAX && channels < INT_MAX / pixels && w->in[0] == 1 &&
                  w->kernel[0] == 1 && w->out[0] == 1 && w->n <= INT_MAX;
    for (int i = 0; i < 3; i++) {
        modest = modest && w->in[i] < 1 << 24 && w->kernel[i] < 1 << 10 && w->stride[i] < 1 << 10 &&
                 w->dilation[i] < 1 << 10 && w->pad_begin[i] >= 0 && w->pad_begin[i] < 1 << 12 &&
                 w->pad_end[i] >= 0 && w->pad_end[i] < 1 << 12;
    }
    return modest;
}

static cudnnDataType_t data_type(const struct gpu *gpu, bool is_last) {
    return !is_last                        ? CUDNN_DATA_FLOAT
           : gpu->type == KERNELS_BFLOAT16 ? CUDNN_DATA_BFLOAT16
                                           : CUDNN_DATA_HALF;
}

static int describe_tensor(struct conv *conv, cudnnTensorDescriptor_t *ret_tensor, int64_t n,
                           int64_t c, int64_t h, int64_t w) {
    struct libraries *libraries = &conv->gpu->libraries;
    cudnnStatus_t status = libraries->dnn.CreateTensorDescriptor(ret_tensor);
    if (status != CUDNN_STATUS_SUCCESS) {
        return (int)status;
    }
    cudnnDataType_t type = data_type(conv->gpu, conv->is_last);
    return (int)(conv->is_last
                     ? libraries->dnn.SetTensor4dDescriptorEx(*ret_tensor, type, (int)n, (int)c,
                                                              (int)h, (int)w, (int)(h * w * c), 1,
                                                              (int)(w * c), (int)c)
                     : libraries->dnn.SetTensor4dDescriptorEx(*ret_tensor, type, (int)n, (int)c,
                                                              (int)h, (int)w, (int)(c * h * w),
                                                              (int)(h * w), (int)w, 1));
}

/* Everything but the algorithm. */
static int describe(struct conv *conv) {
    struct libraries *libraries = &conv->gpu->libraries;
    const struct kernels_window *w = &conv->window;
    int64_t pad[2], in[2], c = conv->x_channels / w->groups;
    for (int i = 0; i < 2; i++) {
        pad[i] = conv->is_padded ? 0 : w->pad_begin[i + 1];
        in[i] = w->in[i + 1] + (conv->is_padded ? w->pad_begin[i + 1] + w->pad_end[i + 1] : 0);
    }
    cudnnDataType_t type = data_type(conv->gpu, conv->is_last);
    int status = describe_tensor(conv, &conv->x, w->n, conv->x_channels, in[0], in[1]);
    status = status ? status
                    : describe_tensor(conv, &conv->y, w->n, conv->y_channels, w->out[1], w->out[2]);
    status = status ? status : describe_tensor(conv, &conv->channel, 1, conv->y_channels, 1, 1);
    status = status ? status : (int)libraries->dnn.CreateFilterDescriptor(&conv->filter);
    status = status ? status
                    : (int)libraries->dnn.SetFilter4dDescriptor(
                          conv->filter, type, conv->is_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                          (int)conv->y_channels, (int)c, (int)w->kernel[1], (int)w->kernel[2]);
    status = status ? status : (int)libraries->dnn.CreateConvolutionDescriptor(&conv->convolution);
    status = status ? status
                    : (int)libraries->dnn.SetConvolution2dDescriptor(
                          conv->convolution, (int)pad[0], (int)pad[1], (int)w->stride[1],
                          (int)w->stride[2], (int)w->dilation[1], (int)w->dilation[2],
                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    status = status
                 ? status
                 : (int)libraries->dnn.SetConvolutionGroupCount(conv->convolution, (int)w->groups);
    return status ? status
                  : (int)libraries->dnn.SetConvolutionMathType(
                        conv->convolution, conv->is_last         ? CUDNN_TENSOR_OP_MATH
                                           : conv->gpu->has_tf32 ? CUDNN_DEFAULT_MATH
                                                                 : CUDNN_FMA_MATH);
}

/* The fastest by cuDNN's own judgement that fits into the workspace. False: it has none. A bias
 * without a relu is added by one algorithm alone. */
static bool choose_algorithm(struct conv *conv) {
    struct gpu *gpu = conv->gpu;
    cudnnConvolutionFwdAlgoPerf_t found[ALGORITHMS];
    int count = 0;
    bool is_identity = conv->tries_fused && !conv->fused.has_bounds;
    if (gpu->libraries.dnn.GetConvolutionForwardAlgorithm_v7(
            gpu->dnn, conv->x, conv->filter, conv->convolution, conv->y, ALGORITHMS, &count,
            found) != CUDNN_STATUS_SUCCESS) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= workspace_most &&
            (!is_identity || found[i].algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) &&
            gpu->libraries.dnn.GetConvolutionForwardWorkspaceSize(
                gpu->dnn, conv->x, conv->filter, conv->convolution, conv->y, found[i].algo,
                &conv->workspace_bytes) == CUDNN_STATUS_SUCCESS) {
            conv->algorithm = found[i].algo;
            return true;
        }
    }
    return false;
}

/* What may be left to cuDNN; -1: nothing, the caller takes another kernel. */
static int conv_library(struct prepare *prepare, struct conv *conv, struct error *err) {
    struct task *task = prepare->task;
    const struct kernels_window *w = &conv->window;
    const struct fused *fused = &conv->fused;
    bool is_relu = !fused->has_bounds || (fused->low == 0 && isinf(fused->high));
    bool has_more = fused->add >= 0 || fused->has_bounds || conv->has_bias;
    conv->is_padded = w->pad_begin[1] != w->pad_end[1] || w->pad_begin[2] != w->pad_end[2];
    conv->tries_fused = conv->weights && is_relu && has_more;
    if (gpu_check_dnn(prepare->gpu, (cudnnStatus_t)describe(conv), "a convolution's description",
                      err) < 0) {
        return -1;
    }
    if (!choose_algorithm(conv)) {
        conv->tries_fused = false;
        if (!choose_algorithm(conv)) {
            return prepare_refuse(err, "a convolution that cuDNN has not");
        }
    }
    size_t padded = 0;
    if (conv->is_padded) {
        int64_t h = w->in[1] + w->pad_begin[1] + w->pad_end[1];
        int64_t v = w->in[2] + w->pad_begin[2] + w->pad_end[2];
        padded = (size_t)(w->n * conv->x_channels * h * v) * (conv->is_last ? 2 : sizeof(float));
        padded = (padded + 255) / 256 * 256;
    }
    task->scratch_bytes = padded + conv->workspace_bytes;
    task->run = conv_run;
    return 0;
}

static bool is_one_a_channel(const struct kernels_window *w) {
    return w->groups > 1 && w->groups == w->c && w->m == w->c;
}

/* Channels last: constants, and groups of whole lanes (or one filter a channel). */
static bool may_be_last(const struct prepare *prepare, const struct conv *conv, bool is_packed) {
    const struct task *task = prepare->task;
    const struct kernels_window *w = &conv->window;
    bool is_whole =
        w->groups == 1 || is_one_a_channel(w) ||
        (w->c / w->groups % KERNELS_LANES == 0 && w->m / w->groups % KERNELS_LANES == 0);
    return prepare->gpu->type != KERNELS_FLOAT32 && is_packed && is_whole && is_modest(w) &&
           last_fits(task->inputs[0].type, &task->inputs[0].shape) &&
           last_fits(task->outputs[0].type, &task->outputs[0].shape);
}

/* One way to do it; ERROR_UNSUPPORTED: try the next. */
static int try_form(struct prepare *prepare, bool is_last, bool is_packed, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    struct window window;
    if (conv_window(node, prepare->inputs, &window, err) < 0) {
        return -1;
    }
    struct conv *conv = task->params = x_calloc(1, sizeof *conv);
    task->release = conv_release;
    conv->gpu = prepare->gpu;
    conv->fused = fused_of(prepare->step);
    conv->window = window_of(&window, &task->inputs[0].shape, &task->outputs[0].shape);
    struct kernels_window *w = &conv->window;
    conv->has_bias = conv->fused.norm ||
                     (node->input_count > 2 && node->inputs[2] >= 0 && !conv->fused.drops_bias);
    conv->is_last = is_last;
    if (is_last && !may_be_last(prepare, conv, is_packed)) {
        return prepare_refuse(err, "a convolution that is not done channels last");
    }
    conv->x_channels = is_last ? last_pitch(w->c) : w->c;
    conv->y_channels = is_last ? last_pitch(w->m) : w->m;
    prepare_form(prepare, is_last ? FORM_LAST : FORM_PLAIN);
    for (int i = 1; i < MIN(node->input_count, 3); i++) {
        task->inputs[i].form = FORM_PLAIN; /* not read when they are packed */
    }
    bool is_depthwise = is_last && is_one_a_channel(w);
    if (is_packed && pack(prepare, conv, is_depthwise, err) < 0) {
        return -1;
    }
    if (is_depthwise) {
        task->run = depthwise_run;
        return 0;
    }
    if (is_modest(w) && conv_library(prepare, conv, err) == 0) {
        return 0;
    }
    task->scratch_bytes = 0;
    task->run = direct_run;
    return is_last || err->kind == ERROR_EXHAUSTED ? -1 : 0;
}

int conv_prepare(struct prepare *prepare, struct error *err) {
    struct task *task = prepare->task;
    const struct node *node = task->node;
    bool has_bias = node->input_count > 2 && node->inputs[2] >= 0;
    bool is_packed = prepare_weights(prepare->schedule, node, 1) &&
                     (!has_bias || prepare_weights(prepare->schedule, node, 2));
    int result = try_form(prepare, true, is_packed, err);
    if (result < 0 && err->kind == ERROR_UNSUPPORTED) {
        if (task->params) {
            conv_release(TAKE(task->params));
        }
        error_clear(err);
        result = try_form(prepare, false, is_packed, err);
    }
    for (int i = 1; i < MIN(node->input_count, 3) && is_packed && result == 0; i++) {
        prepare->step->inputs[i] = -1;
        task->inputs[i].is_absent = true;
    }
    return result;
}
