/* kernel.cuh: shared by all kernels: launches, 16-bit floats, reductions over a block. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

enum { THREADS = 256 };

/* The grid size for this many threads. It is limited; kernels loop over the grid (EACH). */
static inline int64_t blocks_for(int64_t threads) {
    const int64_t most = 1 << 20;
    int64_t blocks = (threads + THREADS - 1) / THREADS;
    return blocks < most ? blocks : most;
}

/* Launches `blocks` blocks of THREADS threads; 0: does nothing. Returns a cudaError_t. */
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

/* A grid-stride loop over 0..count - 1. */
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

/* The index in x from which padding takes an element; -1: none, it is constant. */
static __device__ __forceinline__ int64_t edge_index(int64_t index, int64_t size, int edge) {
    if (index >= 0 && index < size) {
        return index;
    }
    if (edge == KERNELS_REFLECT) {
        return index < 0 ? -index : 2 * (size - 1) - index;
    }
    return edge == KERNELS_EDGE ? (index < 0 ? 0 : size - 1) : -1;
}

/* A tensor as [outer, size, inner] around one of its axes. */
struct around {
    int64_t outer, size, inner;
};
static inline struct around around_of(const int64_t sizes[3]) {
    return {sizes[0], sizes[1], sizes[2]};
}

/* KERNELS_LANES adjacent channels, loaded and stored in one access of 16 bytes. */
template <class T> struct alignas(16) lanes { T at[KERNELS_LANES]; };

/* Reduces the values of a block's threads by `join`, in a fixed order, and returns the result in
 * every thread. All threads must call it. Two barriers are enough: the next call may write `shared`
 * while threads still read `few`, because it writes `few` only after its own barrier. */
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

/* Reduces two sums per channel over the rows of a block, in order. Threads form a grid of rows x
 * columns. The thread at (row, column) has 2 * KERNELS_LANES sums for the channels of group base +
 * column; the results for channel c go to out[2 c] and out[2 c + 1]. All threads must call it. A
 * barrier is needed before `shared` is written again. */
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
