// SPDX-License-Identifier: Apache-2.0
/* Stands in for libcudnn.so.9: convolutions as their descriptors say, by plain loops over strides,
 * and what cuDNN's manual says it refuses is refused, with the codes of cuDNN 9. Memory that it
 * forbids is a fault. */
#include "tests/cuda/runtime.h"

#include <cudnn.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <math.h>
#include <string.h>

#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct cudnnContext {
    cudaStream_t stream;
};
struct cudnnTensorStruct {
    cudnnDataType_t type;
    int dims[4], strides[4]; /* n, c, h, w */
};
struct cudnnFilterStruct {
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int dims[4]; /* k, c, h, w */
};
struct cudnnConvolutionStruct {
    int pad[2], stride[2], dilation[2], groups;
    cudnnDataType_t compute;
    cudnnMathType_t math;
};
struct cudnnActivationStruct {
    cudnnActivationMode_t mode;
};

EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
    *handle = new cudnnContext();
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT const char *cudnnGetErrorString(cudnnStatus_t status) {
    return status == CUDNN_STATUS_SUCCESS     ? "success"
           : CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM ? "bad parameter"
                                                                     : "not supported";
}
EXPORT cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor) {
    *tensor = new cudnnTensorStruct();
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
    delete tensor;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                  cudnnDataType_t type, int n, int c, int h, int w,
                                                  int n_stride, int c_stride, int h_stride,
                                                  int w_stride) {
    *tensor = {type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}};
    return n > 0 && c > 0 && h > 0 && w > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
EXPORT cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter) {
    *filter = new cudnnFilterStruct();
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
    delete filter;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter,
                                                cudnnDataType_t type, cudnnTensorFormat_t format,
                                                int k, int c, int h, int w) {
    *filter = {type, format, {k, c, h, w}};
    return k > 0 && c > 0 && h > 0 && w > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}
EXPORT cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convolution) {
    *convolution = new cudnnConvolutionStruct();
    (*convolution)->groups = 1;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
    delete convolution;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution,
                                                     int pad_h, int pad_w, int stride_h,
                                                     int stride_w, int dilation_h, int dilation_w,
                                                     cudnnConvolutionMode_t mode,
                                                     cudnnDataType_t compute) {
    if (pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 ||
        dilation_w < 1 || mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    *convolution = {{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, 1, compute,
                    CUDNN_DEFAULT_MATH};
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution,
                                                   int groups) {
    convolution->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution,
                                                 cudnnMathType_t math) {
    convolution->math = math;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *activation) {
    *activation = new cudnnActivationStruct();
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) {
    delete activation;
    return CUDNN_STATUS_SUCCESS;
}
EXPORT cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                                  cudnnActivationMode_t mode,
                                                  cudnnNanPropagation_t, double) {
    activation->mode = mode;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- convolutions --------------------------------------------------------------------------- */

static const size_t workspace_bytes = 1000; /* odd on purpose */

struct call {
    cudnnTensorStruct x, y, z;
    cudnnFilterStruct w;
    cudnnConvolutionStruct convolution;
    float alpha, beta;
    const void *x_data, *w_data, *z_data, *bias;
    void *y_data;
    bool has_relu, has_bias;
};

static bool fits(const call &c) {
    const cudnnConvolutionStruct &v = c.convolution;
    bool fine = c.x.type == c.w.type && c.x.type == c.y.type && c.x.dims[0] == c.y.dims[0] &&
                c.w.dims[0] == c.y.dims[1] && c.w.dims[1] * v.groups == c.x.dims[1] &&
                c.w.dims[0] % v.groups == 0;
    for (int i = 0; i < 2; i++) {
        int span = (c.w.dims[i + 2] - 1) * v.dilation[i] + 1;
        fine = fine && c.y.dims[i + 2] ==
                           (c.x.dims[i + 2] + 2 * v.pad[i] - span) / v.stride[i] + 1;
    }
    /* Of two bytes: channels last and whole lanes, or it would be slow or refused. */
    bool is_wide = c.x.type == CUDNN_DATA_FLOAT;
    bool is_last = c.x.strides[1] == 1 && c.y.strides[1] == 1 && c.w.format == CUDNN_TENSOR_NHWC;
    return fine && (is_wide || (is_last && c.x.dims[1] % 8 == 0 && c.y.dims[1] % 8 == 0 &&
                                v.math == CUDNN_TENSOR_OP_MATH));
}

static double load(cudnnDataType_t type, const void *data, int64_t i) {
    return type == CUDNN_DATA_FLOAT  ? (double)((const float *)data)[i]
           : type == CUDNN_DATA_HALF ? (double)__half2float(((const __half *)data)[i])
                                     : (double)__bfloat162float(((const __nv_bfloat16 *)data)[i]);
}

static void store(cudnnDataType_t type, void *data, int64_t i, double value) {
    if (type == CUDNN_DATA_FLOAT) {
        ((float *)data)[i] = (float)value;
    } else if (type == CUDNN_DATA_HALF) {
        ((__half *)data)[i] = __float2half_rn((float)value);
    } else {
        ((__nv_bfloat16 *)data)[i] = __float2bfloat16_rn((float)value);
    }
}

static int64_t at(const cudnnTensorStruct &t, int n, int c, int h, int w) {
    return (int64_t)n * t.strides[0] + (int64_t)c * t.strides[1] + (int64_t)h * t.strides[2] +
           (int64_t)w * t.strides[3];
}

static double one(const call &c, int n, int m, int h, int w) {
    const cudnnConvolutionStruct &v = c.convolution;
    int channels = c.w.dims[1], kernel_h = c.w.dims[2], kernel_w = c.w.dims[3];
    int group = m / (c.w.dims[0] / v.groups);
    double sum = 0;
    for (int i = 0; i < channels; i++) {
        for (int kh = 0; kh < kernel_h; kh++) {
            for (int kw = 0; kw < kernel_w; kw++) {
                int in_h = h * v.stride[0] - v.pad[0] + kh * v.dilation[0];
                int in_w = w * v.stride[1] - v.pad[1] + kw * v.dilation[1];
                int64_t tap = c.w.format == CUDNN_TENSOR_NHWC
                                  ? ((int64_t)(m * kernel_h + kh) * kernel_w + kw) * channels + i
                                  : ((int64_t)(m * channels + i) * kernel_h + kh) * kernel_w + kw;
                if (in_h >= 0 && in_h < c.x.dims[2] && in_w >= 0 && in_w < c.x.dims[3]) {
                    sum += load(c.w.type, c.w_data, tap) *
                           load(c.x.type, c.x_data,
                                at(c.x, n, group * channels + i, in_h, in_w));
                }
            }
        }
    }
    return sum;
}

static void convolve(const call &c) {
    for (int n = 0; n < c.y.dims[0]; n++) {
        for (int m = 0; m < c.y.dims[1]; m++) {
            for (int h = 0; h < c.y.dims[2]; h++) {
                for (int w = 0; w < c.y.dims[3]; w++) {
                    double value = c.alpha * one(c, n, m, h, w);
                    value += c.beta != 0
                                 ? c.beta * load(c.z.type, c.z_data, at(c.z, n, m, h, w))
                                 : 0;
                    value += c.has_bias ? load(c.y.type, c.bias, m) : 0;
                    value = c.has_relu && value < 0 ? 0 : value;
                    store(c.y.type, c.y_data, at(c.y, n, m, h, w), value);
                }
            }
        }
    }
}

static void note(const char *what, const call &c) {
    static const char *const names[] = {"float", "?", "half", "?", "?", "?", "?", "?", "?",
                                        "bfloat16"};
    const cudnnConvolutionStruct &v = c.convolution;
    emulated_note("%s %s x %dx%dx%dx%d w %dx%dx%dx%d y %dx%dx%dx%d pad %d,%d stride %d,%d "
                  "dilation %d,%d groups %d%s%s%s",
                  what, c.x.type < 10 ? names[c.x.type] : "?", c.x.dims[0], c.x.dims[1],
                  c.x.dims[2], c.x.dims[3], c.w.dims[0], c.w.dims[1], c.w.dims[2], c.w.dims[3],
                  c.y.dims[0], c.y.dims[1], c.y.dims[2], c.y.dims[3], v.pad[0], v.pad[1],
                  v.stride[0], v.stride[1], v.dilation[0], v.dilation[1], v.groups,
                  c.has_bias ? " bias" : "", c.beta != 0 ? " add" : "", c.has_relu ? " relu" : "");
}

EXPORT cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y, int requested,
    int *returned, cudnnConvolutionFwdAlgoPerf_t *found) {
    static const cudnnConvolutionFwdAlgo_t order[] = {
        CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM};
    call c = {*x, *y, *y, *w, *convolution, 1, 0, NULL, NULL, NULL, NULL, NULL, false, false};
    *returned = 0;
    if (!fits(c)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    for (int i = 0; i < 3 && i < requested; i++) {
        memset(&found[i], 0, sizeof found[i]);
        found[i].algo = order[i];
        found[i].status = i == 0 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
        found[i].memory = workspace_bytes;
        (*returned)++;
    }
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnFilterDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t,
    size_t *size) {
    *size = workspace_bytes;
    return CUDNN_STATUS_SUCCESS;
}

static int64_t count_of(const int dims[4]) {
    return (int64_t)dims[0] * dims[1] * dims[2] * dims[3];
}

static size_t bytes_of(cudnnDataType_t type, int64_t count) {
    return (size_t)count * (type == CUDNN_DATA_FLOAT ? 4 : 2);
}

static size_t bytes_of(const cudnnTensorStruct &t) {
    int64_t last = 0;
    for (int i = 0; i < 4; i++) {
        last += (int64_t)(t.dims[i] - 1) * t.strides[i];
    }
    return bytes_of(t.type, last + 1);
}

struct memory {
    const char *name;
    const void *at;
    size_t size;
    bool is_read, is_written;
};

/* Checks a call's memory, and queues its accesses; the workspace's content is lost. Convolutions by
 * tensor cores want 16 bytes. */
static bool has_memory(cudnnHandle_t handle, const std::vector<memory> &all, void *workspace,
                       size_t size) {
    if (!workspace || size < workspace_bytes) {
        emulated_refuse("cuDNN: the workspace has %zu bytes of %zu", size, workspace_bytes);
        return false;
    }
    if (emulated_room(workspace) < size || (uintptr_t)workspace % 256) {
        emulated_refuse("cuDNN: the workspace is not the device's, or not aligned to 256 bytes");
        return false;
    }
    for (const memory &one : all) {
        const char *from = (const char *)one.at;
        if (emulated_room(one.at) < one.size || (uintptr_t)one.at % 16) {
            emulated_refuse("cuDNN: %s is not %zu bytes of the device, aligned to 16", one.name,
                            one.size);
            return false;
        }
        if (from < (char *)workspace + size && from + one.size > (char *)workspace) {
            emulated_refuse("cuDNN: %s is in the workspace", one.name);
            return false;
        }
        for (const memory &other : all) {
            bool is_same = one.at == other.at && one.size == other.size && one.name[0] >= 'y' &&
                           other.name[0] >= 'y'; /* z may be y */
            if (&one != &other && !is_same && (one.is_written || other.is_written) &&
                from < (const char *)other.at + other.size && from + one.size > other.at) {
                emulated_refuse("cuDNN: %s and %s overlap", one.name, other.name);
                return false;
            }
        }
    }
    emulated_enqueue(handle->stream, [=] {
        emulated_touch(workspace, size, true);
        memset(workspace, 0xff, size);
        for (const memory &one : all) {
            emulated_touch(one.at, one.is_read ? one.size : 0, false);
            emulated_touch(one.at, one.is_written ? one.size : 0, true);
        }
    });
    return true;
}

static size_t bytes_of(const cudnnFilterStruct &w) {
    return bytes_of(w.type, count_of(w.dims));
}

EXPORT cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x, const void *x_data,
    const cudnnFilterDescriptor_t w, const void *w_data,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t, void *workspace,
    size_t size, const void *beta, const cudnnTensorDescriptor_t y, void *y_data) {
    call c = {*x,     *y,     *y,   *w,   *convolution, *(const float *)alpha,
              *(const float *)beta, x_data, w_data, y_data, NULL, y_data, false, false};
    if (!fits(c)) {
        return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    }
    if (!has_memory(handle,
                    {{"x", x_data, bytes_of(*x), true, false},
                     {"w", w_data, bytes_of(*w), true, false},
                     {"y", y_data, bytes_of(*y), c.beta != 0, true}},
                    workspace, size)) {
        return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    }
    note("convolution", c);
    emulated_enqueue(handle->stream, [c] { convolve(c); });
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x, const void *x_data,
    const cudnnFilterDescriptor_t w, const void *w_data,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
    void *workspace, size_t size, const void *beta, const cudnnTensorDescriptor_t z,
    const void *z_data, const cudnnTensorDescriptor_t bias, const void *bias_data,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y, void *y_data) {
    call c = {*x,     *y,     *z,     *w,     *convolution, *(const float *)alpha,
              *(const float *)beta, x_data, w_data, z_data, bias_data, y_data,
              activation->mode == CUDNN_ACTIVATION_RELU, true};
    bool is_channel = bias->dims[0] == 1 && bias->dims[1] == y->dims[1] && bias->dims[2] == 1 &&
                      bias->dims[3] == 1 && bias->type == y->type;
    if (!bias_data || !z_data) {
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    if (!fits(c) || !is_channel || memcmp(z->dims, y->dims, sizeof z->dims) != 0) {
        return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    }
    if (activation->mode != CUDNN_ACTIVATION_RELU &&
        (activation->mode != CUDNN_ACTIVATION_IDENTITY ||
         algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    /* A shape that the fused call has not: callers must have another way. */
    if (c.convolution.dilation[0] > 1) {
        return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
    }
    if (!has_memory(handle,
                    {{"x", x_data, bytes_of(*x), true, false},
                     {"w", w_data, bytes_of(*w), true, false},
                     {"bias", bias_data, bytes_of(*bias), true, false},
                     {"z", z_data, bytes_of(*z), c.beta != 0, false},
                     {"y", y_data, bytes_of(*y), false, true}},
                    workspace, size)) {
        return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    }
    note("convolution", c);
    emulated_enqueue(handle->stream, [c] { convolve(c); });
    return CUDNN_STATUS_SUCCESS;
}

/* ---- backwards ------------------------------------------------------------------------------ */

/* What tap (kh, kw) of filter m sees of channel i of its group at output (h, w): where that is in
 * x, or -1. */
static int64_t meets(const call &c, int n, int m, int i, int h, int w, int kh, int kw) {
    const cudnnConvolutionStruct &v = c.convolution;
    int group = m / (c.w.dims[0] / v.groups);
    int in_h = h * v.stride[0] - v.pad[0] + kh * v.dilation[0];
    int in_w = w * v.stride[1] - v.pad[1] + kw * v.dilation[1];
    return in_h >= 0 && in_h < c.x.dims[2] && in_w >= 0 && in_w < c.x.dims[3]
               ? at(c.x, n, group * c.w.dims[1] + i, in_h, in_w)
               : -1;
}

static int64_t tap_at(const call &c, int m, int i, int kh, int kw) {
    int channels = c.w.dims[1], kernel_h = c.w.dims[2], kernel_w = c.w.dims[3];
    return c.w.format == CUDNN_TENSOR_NHWC
               ? ((int64_t)(m * kernel_h + kh) * kernel_w + kw) * channels + i
               : ((int64_t)(m * channels + i) * kernel_h + kh) * kernel_w + kw;
}

/* visit(place in x, place in w, place in y) for every product of the convolution. */
template <class Visit> static void each_product(const call &c, Visit visit) {
    for (int n = 0; n < c.y.dims[0]; n++) {
        for (int m = 0; m < c.y.dims[1]; m++) {
            for (int h = 0; h < c.y.dims[2]; h++) {
                for (int w = 0; w < c.y.dims[3]; w++) {
                    int64_t y = at(c.y, n, m, h, w);
                    for (int kh = 0; kh < c.w.dims[2]; kh++) {
                        for (int kw = 0; kw < c.w.dims[3]; kw++) {
                            for (int i = 0; i < c.w.dims[1]; i++) {
                                int64_t x = meets(c, n, m, i, h, w, kh, kw);
                                if (x >= 0) {
                                    visit(x, tap_at(c, m, i, kh, kw), y);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

static std::vector<float> numbers(cudnnDataType_t type, const void *data, int64_t count) {
    std::vector<float> all((size_t)count);
    for (int64_t i = 0; i < count; i++) {
        all[(size_t)i] = (float)load(type, data, i);
    }
    return all;
}

/* Sums in double precision; y_data is what is made: dx, or dw. x_data: dy. */
static void convolve_data(const call &c) {
    std::vector<float> dy = numbers(c.y.type, c.x_data, count_of(c.y.dims));
    std::vector<float> w = numbers(c.w.type, c.w_data, count_of(c.w.dims));
    std::vector<double> dx((size_t)count_of(c.x.dims));
    each_product(c, [&](int64_t to, int64_t tap, int64_t from) {
        dx[(size_t)to] += (double)w[(size_t)tap] * dy[(size_t)from];
    });
    for (size_t i = 0; i < dx.size(); i++) {
        store(c.x.type, c.y_data, (int64_t)i, dx[i]);
    }
}

/* w_data: x. */
static void convolve_filter(const call &c) {
    std::vector<float> dy = numbers(c.y.type, c.x_data, count_of(c.y.dims));
    std::vector<float> x = numbers(c.x.type, c.w_data, count_of(c.x.dims));
    std::vector<double> dw((size_t)count_of(c.w.dims));
    each_product(c, [&](int64_t from, int64_t tap, int64_t y) {
        dw[(size_t)tap] += (double)x[(size_t)from] * dy[(size_t)y];
    });
    for (size_t i = 0; i < dw.size(); i++) {
        store(c.w.type, c.y_data, (int64_t)i, dw[i]);
    }
}

/* Algorithms as the manual tells of them: 0 and 3 add in any order. */
template <class Found, class Algorithm>
static cudnnStatus_t tell(const call &c, int requested, int *returned, Found *found,
                          const Algorithm (&order)[3]) {
    *returned = 0;
    if (!fits(c)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    for (int i = 0; i < 3 && i < requested; i++) {
        memset(&found[i], 0, sizeof found[i]);
        found[i].algo = order[i];
        found[i].status = i == 0 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
        found[i].determinism = (int)order[i] == 0 ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
        found[i].memory = workspace_bytes;
        (*returned)++;
    }
    return CUDNN_STATUS_SUCCESS;
}

static call backward(const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
                     const cudnnConvolutionDescriptor_t convolution,
                     const cudnnTensorDescriptor_t y) {
    return {*x, *y, *y, *w, *convolution, 1, 0, NULL, NULL, NULL, NULL, NULL, false, false};
}

EXPORT cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t x, int requested,
    int *returned, cudnnConvolutionBwdDataAlgoPerf_t *found) {
    static const cudnnConvolutionBwdDataAlgo_t order[3] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD,
                                                           CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                                                           CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
    return tell(backward(x, w, convolution, y), requested, returned, found, order);
}

EXPORT cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, const cudnnFilterDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
    cudnnConvolutionBwdDataAlgo_t, size_t *size) {
    *size = workspace_bytes;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w, const void *w_data,
    const cudnnTensorDescriptor_t y, const void *dy_data,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionBwdDataAlgo_t algorithm,
    void *workspace, size_t size, const void *beta, const cudnnTensorDescriptor_t x,
    void *dx_data) {
    call c = backward(x, w, convolution, y);
    c.w_data = w_data;
    c.x_data = dy_data;
    c.y_data = dx_data;
    if (!fits(c) || *(const float *)alpha != 1 || *(const float *)beta != 0 ||
        algorithm != CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 ||
        !has_memory(handle,
                    {{"w", w_data, bytes_of(*w), true, false},
                     {"dy", dy_data, bytes_of(*y), true, false},
                     {"dx", dx_data, bytes_of(*x), false, true}},
                    workspace, size)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    note("convolution's data", c);
    emulated_enqueue(handle->stream, [c] { convolve_data(c); });
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t w, int requested,
    int *returned, cudnnConvolutionBwdFilterAlgoPerf_t *found) {
    static const cudnnConvolutionBwdFilterAlgo_t order[3] = {
        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
    return tell(backward(x, w, convolution, y), requested, returned, found, order);
}

EXPORT cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnConvolutionDescriptor_t, const cudnnFilterDescriptor_t,
    cudnnConvolutionBwdFilterAlgo_t, size_t *size) {
    *size = workspace_bytes;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x, const void *x_data,
    const cudnnTensorDescriptor_t y, const void *dy_data,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionBwdFilterAlgo_t algorithm,
    void *workspace, size_t size, const void *beta, const cudnnFilterDescriptor_t w,
    void *dw_data) {
    call c = backward(x, w, convolution, y);
    c.w_data = x_data;
    c.x_data = dy_data;
    c.y_data = dw_data;
    if (!fits(c) || *(const float *)alpha != 1 || *(const float *)beta != 0 ||
        algorithm != CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
        !has_memory(handle,
                    {{"x", x_data, bytes_of(*x), true, false},
                     {"dy", dy_data, bytes_of(*y), true, false},
                     {"dw", dw_data, bytes_of(*w), false, true}},
                    workspace, size)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    note("convolution's filter", c);
    emulated_enqueue(handle->stream, [c] { convolve_filter(c); });
    return CUDNN_STATUS_SUCCESS;
}
