// SPDX-License-Identifier: Apache-2.0
/* Reductions and normalizations of row-major float32, with one block of threads per result. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_reduce.h"

/* One block per result, up to the limit of a grid. */
static int64_t blocks_of(int64_t results) {
    const int64_t most = 1 << 20;
    return results < most ? results : most;
}

static __device__ int64_t offset_of(int64_t index, int rank, const int64_t *dims,
                                    const int64_t *strides) {
    int64_t at = 0;
    for (int k = rank - 1; k >= 0; k--) {
        at += index % dims[k] * strides[k];
        index /= dims[k];
    }
    return at;
}

/* Sums are double: in float32 a sum of a million elements would lose three digits. */
static __device__ float sum_kind(const struct kernels_reduce &r, const float *x, int64_t count,
                                 float most) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        float value = x[offset_of(i, r.gone_rank, r.gone, r.gone_strides)];
        sum += r.kind == KERNELS_REDUCE_L1            ? fabsf(value)
               : r.kind == KERNELS_REDUCE_L2          ? (double)value * value
               : r.kind == KERNELS_REDUCE_SUM_SQUARE  ? (double)value * value
               : r.kind == KERNELS_REDUCE_LOG_SUM_EXP ? exp((double)value - most)
                                                      : value;
    }
    sum = block_join(sum, add_up());
    return r.kind == KERNELS_REDUCE_MEAN          ? (float)(sum / (double)count)
           : r.kind == KERNELS_REDUCE_L2          ? (float)sqrt(sum)
           : r.kind == KERNELS_REDUCE_LOG_SUM     ? (float)log(sum)
           : r.kind == KERNELS_REDUCE_LOG_SUM_EXP ? (float)(most + log(sum))
                                                  : (float)sum;
}

static __device__ float extreme_kind(const struct kernels_reduce &r, const float *x, int64_t count,
                                     bool is_max) {
    float most = is_max ? -INFINITY : INFINITY;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        float value = x[offset_of(i, r.gone_rank, r.gone, r.gone_strides)];
        most = is_max ? greater_one()(value, most) : smaller_one()(value, most);
    }
    return is_max ? block_join(most, greater_one()) : block_join(most, smaller_one());
}

static __device__ float product_kind(const struct kernels_reduce &r, const float *x,
                                     int64_t count) {
    double product = 1;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        product *= x[offset_of(i, r.gone_rank, r.gone, r.gone_strides)];
    }
    return (float)block_join(product, multiply_up());
}

__global__ void reduce_kernel(struct kernels_reduce r, const float *x, float *y, int64_t results,
                              int64_t count) {
    for (int64_t at = blockIdx.x; at < results; at += gridDim.x) {
        const float *from = x + offset_of(at, r.kept_rank, r.kept, r.kept_strides);
        float value;
        if (r.kind == KERNELS_REDUCE_MAX || r.kind == KERNELS_REDUCE_MIN) {
            value = extreme_kind(r, from, count, r.kind == KERNELS_REDUCE_MAX);
        } else if (r.kind == KERNELS_REDUCE_PROD) {
            value = product_kind(r, from, count);
        } else if (r.kind == KERNELS_REDUCE_LOG_SUM_EXP) {
            float most = extreme_kind(r, from, count, true);
            value = isfinite(most) ? sum_kind(r, from, count, most) : most;
        } else {
            value = sum_kind(r, from, count, 0);
        }
        if (threadIdx.x == 0) {
            y[at] = value;
        }
    }
}

int kernels_run_reduce(const struct kernels_reduce *r, const float *x, float *y, void *stream) {
    int64_t results = 1, count = 1;
    for (int k = 0; k < r->kept_rank; k++) {
        results *= r->kept[k];
    }
    for (int k = 0; k < r->gone_rank; k++) {
        count *= r->gone[k];
    }
    return start(stream, blocks_of(results), reduce_kernel, *r, x, y, results, count);
}

__global__ void softmax_kernel(int is_log, int64_t outer, int64_t axis, int64_t inner,
                               const float *x, float *y) {
    for (int64_t row = blockIdx.x; row < outer * inner; row += gridDim.x) {
        int64_t first = row / inner * axis * inner + row % inner;
        float most = -INFINITY;
        double sum = 0;
        for (int64_t k = threadIdx.x; k < axis; k += THREADS) {
            most = greater_one()(x[first + k * inner], most);
        }
        most = block_join(most, greater_one());
        for (int64_t k = threadIdx.x; k < axis; k += THREADS) {
            sum += expf(x[first + k * inner] - most);
        }
        sum = block_join(sum, add_up());
        for (int64_t k = threadIdx.x; k < axis; k += THREADS) {
            float shifted = x[first + k * inner] - most;
            y[first + k * inner] =
                is_log ? (float)(shifted - log(sum)) : (float)(expf(shifted) / sum);
        }
    }
}

int kernels_run_softmax(int is_log, const int64_t sizes[3], const float *x, float *y,
                        void *stream) {
    return start(stream, blocks_of(sizes[1] ? sizes[0] * sizes[2] : 0), softmax_kernel, is_log,
                 sizes[0], sizes[1], sizes[2], x, y);
}

/* One thread per result, because rows are usually short. A NaN is greater, and less, than all other
 * numbers. */
__global__ void arg_max_kernel(int is_min, int takes_last, struct around a, const float *x,
                               int64_t *y) {
    EACH(row, a.outer * a.inner) {
        int64_t first = row / a.inner * a.size * a.inner + row % a.inner, best = 0;
        float most = x[first];
        for (int64_t k = 1; k < a.size; k++) {
            float value = x[first + k * a.inner];
            bool is_nan = value != value, was_nan = most != most;
            bool is_better = is_nan || was_nan ? is_nan && !was_nan
                             : is_min          ? value < most
                                               : value > most;
            bool is_equal = is_nan || was_nan ? is_nan && was_nan : value == most;
            if (is_better || (takes_last && is_equal)) {
                best = k;
                most = value;
            }
        }
        y[row] = best;
    }
}

int kernels_run_arg_max(int is_min, int takes_last, const int64_t sizes[3], const float *x,
                        int64_t *y, void *stream) {
    return start(stream, blocks_for(sizes[0] * sizes[2]), arg_max_kernel, is_min, takes_last,
                 around_of(sizes), x, y);
}

/* ---- normalizations ------------------------------------------------------------------------- */

/* Mean and variance of a row, in two passes. */
static __device__ void moments_of(const float *x, int64_t count, double *ret_mean,
                                  double *ret_variance) {
    double sum = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        sum += x[i];
    }
    double mean = block_join(sum, add_up()) / (double)count;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        squares += (x[i] - mean) * (x[i] - mean);
    }
    *ret_variance = block_join(squares, add_up()) / (double)count;
    *ret_mean = mean;
}

__global__ void layer_norm_kernel(struct kernels_layer_norm norm) {
    for (int64_t row = blockIdx.x; row < norm.outer; row += gridDim.x) {
        const float *x = norm.x + row * norm.inner;
        float *y = norm.y + row * norm.inner;
        double mean, variance;
        moments_of(x, norm.inner, &mean, &variance);
        double inverse = 1 / sqrt(variance + norm.epsilon);
        for (int64_t i = threadIdx.x; i < norm.inner; i += THREADS) {
            y[i] =
                (float)((x[i] - mean) * inverse * norm.scale[i] + (norm.shift ? norm.shift[i] : 0));
        }
        if (threadIdx.x == 0 && norm.means) {
            norm.means[row] = (float)mean;
        }
        if (threadIdx.x == 0 && norm.inverses) {
            norm.inverses[row] = (float)inverse;
        }
    }
}

int kernels_run_layer_norm(const struct kernels_layer_norm *norm, void *stream) {
    return start(stream, blocks_of(norm->inner ? norm->outer : 0), layer_norm_kernel, *norm);
}

__global__ void norm_kernel(struct kernels_norm norm) {
    for (int64_t plane = blockIdx.x; plane < norm.n * norm.c; plane += gridDim.x) {
        int64_t c = plane % norm.c;
        const float *x = norm.x + plane * norm.pixels;
        float *y = norm.y + plane * norm.pixels;
        double mean, variance;
        if (norm.mean) {
            mean = norm.mean[c];
            variance = norm.variance[c];
        } else {
            moments_of(x, norm.pixels, &mean, &variance);
        }
        double factor = norm.scale[c] / sqrt(variance + norm.epsilon);
        for (int64_t i = threadIdx.x; i < norm.pixels; i += THREADS) {
            y[i] = (float)((x[i] - mean) * factor + norm.shift[c]);
        }
    }
}

int kernels_run_norm(const struct kernels_norm *norm, void *stream) {
    return start(stream, blocks_of(norm->pixels ? norm->n * norm->c : 0), norm_kernel, *norm);
}

__global__ void lrn_kernel(struct kernels_lrn lrn, const float *x, float *y) {
    EACH(i, lrn.n * lrn.c * lrn.pixels) {
        int64_t c = i / lrn.pixels % lrn.c;
        int64_t first = c - (lrn.size - 1) / 2, last = c + lrn.size / 2;
        first = first < 0 ? 0 : first;
        last = last >= lrn.c ? lrn.c - 1 : last;
        double sum = 0;
        for (int64_t k = first; k <= last; k++) {
            double value = x[i + (k - c) * lrn.pixels];
            sum += value * value;
        }
        y[i] = (float)(x[i] / pow(lrn.bias + (double)lrn.alpha / (double)lrn.size * sum,
                                  (double)lrn.beta));
    }
}

int kernels_run_lrn(const struct kernels_lrn *lrn, const float *x, float *y, void *stream) {
    return start(stream, blocks_for(lrn->n * lrn->c * lrn->pixels), lrn_kernel, *lrn, x, y);
}
