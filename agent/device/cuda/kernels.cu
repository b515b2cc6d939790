// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cuda/kernels.h"

#include <cuda_runtime.h>

static const int threads_per_block = 256;
static const int64_t blocks_max = 65535;

static int block_count(int64_t count) {
    int64_t blocks = (count + threads_per_block - 1) / threads_per_block;
    return (int)(blocks < blocks_max ? blocks : blocks_max);
}

__global__ void unary(enum kernels_unary kind, const float *x, float *y, int64_t count, float low,
                      float high) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float value = x[i];
        switch (kind) {
        case KERNELS_RELU:
            y[i] = value < 0 ? 0 : value;
            break;
        case KERNELS_SIGMOID:
            y[i] = 1 / (1 + expf(-value));
            break;
        case KERNELS_TANH:
            y[i] = tanhf(value);
            break;
        default:
            value = value < low ? low : value;
            y[i] = value > high ? high : value;
        }
    }
}

__global__ void binary(enum kernels_binary kind, const float *a, const float *b, float *y,
                       struct kernels_broadcast broadcast, int64_t count) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int64_t rest = i, a_at = 0, b_at = 0;
        for (int k = broadcast.rank - 1; k >= 0; k--) {
            int64_t index = rest % broadcast.dims[k];
            rest /= broadcast.dims[k];
            a_at += index * broadcast.a_strides[k];
            b_at += index * broadcast.b_strides[k];
        }
        float u = a[a_at], v = b[b_at];
        y[i] = kind == KERNELS_ADD ? u + v : kind == KERNELS_SUB ? u - v : u * v;
    }
}

int kernels_run_unary(enum kernels_unary kind, const float *x, float *y, int64_t count, float low,
                      float high, void *stream) {
    if (count == 0) {
        return cudaSuccess;
    }
    unary<<<block_count(count), threads_per_block, 0, (cudaStream_t)stream>>>(kind, x, y, count,
                                                                              low, high);
    return cudaGetLastError();
}

int kernels_run_binary(enum kernels_binary kind, const float *a, const float *b, float *y,
                       const struct kernels_broadcast *broadcast, void *stream) {
    int64_t count = 1;
    for (int k = 0; k < broadcast->rank; k++) {
        count *= broadcast->dims[k];
    }
    if (count == 0) {
        return cudaSuccess;
    }
    binary<<<block_count(count), threads_per_block, 0, (cudaStream_t)stream>>>(kind, a, b, y,
                                                                               *broadcast, count);
    return cudaGetLastError();
}
