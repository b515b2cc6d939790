// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cuda/description.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"
#include "agent/engine/device/cuda/task.h"

#include <limits.h>

bool description_fits(const struct kernels_window *w) {
    int64_t channels = channels_last_pitch(MAX(w->c, w->m));
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

static cudnnDataType_t data_type(const struct gpu *gpu, bool is_channels_last) {
    return !is_channels_last               ? CUDNN_DATA_FLOAT
           : gpu->type == KERNELS_BFLOAT16 ? CUDNN_DATA_BFLOAT16
                                           : CUDNN_DATA_HALF;
}

static int describe_tensor(struct description *description, cudnnTensorDescriptor_t *ret_tensor,
                           int64_t n, int64_t c, int64_t h, int64_t w) {
    struct libraries *libraries = &description->gpu->libraries;
    cudnnStatus_t status = libraries->dnn.CreateTensorDescriptor(ret_tensor);
    if (status != CUDNN_STATUS_SUCCESS) {
        return (int)status;
    }
    cudnnDataType_t type = data_type(description->gpu, description->is_channels_last);
    return (int)(description->is_channels_last
                     ? libraries->dnn.SetTensor4dDescriptorEx(*ret_tensor, type, (int)n, (int)c,
                                                              (int)h, (int)w, (int)(h * w * c), 1,
                                                              (int)(w * c), (int)c)
                     : libraries->dnn.SetTensor4dDescriptorEx(*ret_tensor, type, (int)n, (int)c,
                                                              (int)h, (int)w, (int)(c * h * w),
                                                              (int)(h * w), (int)w, 1));
}

int description_make(struct description *description) {
    struct libraries *libraries = &description->gpu->libraries;
    const struct kernels_window *w = &description->window;
    int64_t pad[2], in[2], c = description->x_channels / w->groups;
    for (int i = 0; i < 2; i++) {
        pad[i] = description->is_padded ? 0 : w->pad_begin[i + 1];
        in[i] =
            w->in[i + 1] + (description->is_padded ? w->pad_begin[i + 1] + w->pad_end[i + 1] : 0);
    }
    cudnnDataType_t type = data_type(description->gpu, description->is_channels_last);
    int status =
        describe_tensor(description, &description->x, w->n, description->x_channels, in[0], in[1]);
    status = status ? status
                    : describe_tensor(description, &description->y, w->n, description->y_channels,
                                      w->out[1], w->out[2]);
    status = status ? status
                    : describe_tensor(description, &description->channel, 1,
                                      description->y_channels, 1, 1);
    status = status ? status : (int)libraries->dnn.CreateFilterDescriptor(&description->filter);
    status = status
                 ? status
                 : (int)libraries->dnn.SetFilter4dDescriptor(
                       description->filter, type,
                       description->is_channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                       (int)description->y_channels, (int)c, (int)w->kernel[1], (int)w->kernel[2]);
    status = status ? status
                    : (int)libraries->dnn.CreateConvolutionDescriptor(&description->convolution);
    status = status ? status
                    : (int)libraries->dnn.SetConvolution2dDescriptor(
                          description->convolution, (int)pad[0], (int)pad[1], (int)w->stride[1],
                          (int)w->stride[2], (int)w->dilation[1], (int)w->dilation[2],
                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    status = status ? status
                    : (int)libraries->dnn.SetConvolutionGroupCount(description->convolution,
                                                                   (int)w->groups);
    return status
               ? status
               : (int)libraries->dnn.SetConvolutionMathType(
                     description->convolution, description->is_channels_last ? CUDNN_TENSOR_OP_MATH
                                               : description->gpu->has_tf32  ? CUDNN_DEFAULT_MATH
                                                                             : CUDNN_FMA_MATH);
}

void description_release(struct description *description) {
    struct libraries *libraries = &description->gpu->libraries;
    const cudnnTensorDescriptor_t tensors[] = {description->x, description->y,
                                               description->channel};
    for (size_t i = 0; i < ARRAY_LEN(tensors); i++) {
        if (tensors[i]) {
            libraries->dnn.DestroyTensorDescriptor(tensors[i]);
        }
    }
    if (description->filter) {
        libraries->dnn.DestroyFilterDescriptor(description->filter);
    }
    if (description->convolution) {
        libraries->dnn.DestroyConvolutionDescriptor(description->convolution);
    }
}

bool description_keeps_weights(const struct task_operand *weights,
                               const struct kernels_window *window) {
    return window->groups == 1 && window->m % KERNELS_LANES == 0 && weights->shape.rank == 4 &&
           channels_last_fits(weights->type, &weights->shape);
}
