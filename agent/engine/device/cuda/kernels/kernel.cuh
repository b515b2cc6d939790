/* kernel.cuh: what all kernels share: how they are started, and numbers of two bytes. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum { THREADS = 256 };

/* Blocks of THREADS; what they do not reach in one go they reach by a loop over the grid. */
static inline int64_t blocks_for(int64_t threads) {
    const int64_t most = 1 << 20;
    int64_t blocks = (threads + THREADS - 1) / THREADS;
    return blocks < most ? blocks : most;
}

/* Nothing is started for no blocks. */
template <class... Parameters, class... Arguments>
static inline int start(void *stream, int64_t blocks, void (*kernel)(Parameters...),
                        Arguments &&...arguments) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(THREADS);
    config.stream = (cudaStream_t)stream;
    return blocks <= 0 ? cudaSuccess
                       : cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

#define EACH(i, count)                                                                             \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (count);                  \
         i += (int64_t)gridDim.x * blockDim.x)

static __device__ __forceinline__ float get(float value) {
    return value;
}
static __device__ __forceinline__ float get(__nv_bfloat16 value) {
    return __bfloat162float(value);
}
static __device__ __forceinline__ float get(__half value) {
    return __half2float(value);
}
static __device__ __forceinline__ void put(float *to, float value) {
    *to = value;
}
static __device__ __forceinline__ void put(__nv_bfloat16 *to, float value) {
    *to = __float2bfloat16_rn(value);
}
static __device__ __forceinline__ void put(__half *to, float value) {
    *to = __float2half_rn(value);
}

/* NaN stays NaN. */
static __device__ __forceinline__ float clip(float value, float low, float high) {
    value = value < low ? low : value;
    return value > high ? high : value;
}

/* Eight neighbours in one access of 16 bytes. */
template <class T> struct alignas(16) lanes { T at[KERNELS_LANES]; };

/* The sum (or what `join` makes) over a block, for every thread, in an order that is always the
 * same. All threads must come here. Two barriers: the next call writes `shared` while this one's
 * last threads still read `few`, and writes that behind a barrier of its own. */
template <class T, class Join> static __device__ T block_join(T value, Join join) {
    const unsigned few_count = 16;
    __shared__ T shared[THREADS];
    __shared__ T few[few_count];
    shared[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x < few_count) {
        T part = shared[threadIdx.x];
        for (unsigned i = threadIdx.x + few_count; i < THREADS; i += few_count) {
            part = join(part, shared[i]);
        }
        few[threadIdx.x] = part;
    }
    __syncthreads();
    T result = few[0];
    for (unsigned i = 1; i < few_count; i++) {
        result = join(result, few[i]);
    }
    return result;
}

struct add_up {
    template <class T> __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct greater_one {
    __device__ float operator()(float a, float b) const {
        return a > b || a != a ? a : b;
    }
};
struct smaller_one {
    __device__ float operator()(float a, float b) const {
        return a < b || a != a ? a : b;
    }
};
struct multiply_up {
    template <class T> __device__ T operator()(T a, T b) const {
        return a * b;
    }
};

/* Two sums a channel over the rows of a block: thread (row, column) brings 2 x KERNELS_LANES of
 * them, of group base + column; out[2 c] and out[2 c + 1] are those of channel c. Rows are added in
 * order, so the result is always the same. All threads must come here; who writes `shared` again
 * needs a barrier first. */
static inline __device__ void add_rows(float (*shared)[2 * KERNELS_LANES], const float *sums,
                                       int rows, int columns, int64_t base, int groups,
                                       float *out) {
    for (int k = 0; k < 2 * KERNELS_LANES; k++) {
        shared[threadIdx.x][k] = sums[k];
    }
    __syncthreads();
    for (int at = threadIdx.x; at < columns * 2 * KERNELS_LANES; at += THREADS) {
        int lane = at % (2 * KERNELS_LANES), from = at / (2 * KERNELS_LANES);
        float sum = 0;
        for (int r = 0; r < rows; r++) {
            sum += shared[r * columns + from][lane];
        }
        int64_t c = (base + from) * KERNELS_LANES + lane % KERNELS_LANES;
        if (base + from < groups) {
            out[c * 2 + lane / KERNELS_LANES] = sum;
        }
    }
}
