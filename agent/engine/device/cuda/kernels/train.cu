// SPDX-License-Identifier: Apache-2.0
/* Elementwise gradients, dropout, losses and optimizer steps. Sums are double, in pieces that
 * depend only on sizes, so results are the same in every run. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_train.h"

/* The derivative at v; the same as in agent/engine/device/cpu/training/gradient.c. */
static __device__ float slope_of(const struct kernels_slope &s, float v) {
    switch (s.kind) {
    case KERNELS_SLOPE_ABS:
        return (float)((v > 0) - (v < 0));
    case KERNELS_SLOPE_CLIP:
        return v >= s.a && v <= s.b ? 1 : 0;
    case KERNELS_SLOPE_ELU:
        return v < 0 ? s.a * expf(v) : 1;
    case KERNELS_SLOPE_ERF:
        return 1.1283791670955126f * expf(-v * v);
    case KERNELS_SLOPE_EXP:
        return v;
    case KERNELS_SLOPE_HARD_SIGMOID:
        return s.a * v + s.b > 0 && s.a * v + s.b < 1 ? s.a : 0;
    case KERNELS_SLOPE_HARD_SWISH:
        return v <= -3 ? 0 : v >= 3 ? 1 : v / 3 + 0.5f;
    case KERNELS_SLOPE_LEAKY_RELU:
        return v < 0 ? s.a : 1;
    case KERNELS_SLOPE_LOG:
        return 1 / v;
    case KERNELS_SLOPE_RECIPROCAL:
        return -v * v;
    case KERNELS_SLOPE_RELU:
        return v > 0 ? 1 : 0;
    case KERNELS_SLOPE_SELU:
        return v < 0 ? s.b * s.a * expf(v) : s.b;
    case KERNELS_SLOPE_SIGMOID:
        return v * (1 - v);
    case KERNELS_SLOPE_SOFTPLUS:
        return 1 / (1 + expf(-v));
    case KERNELS_SLOPE_SOFTSIGN:
        return 1 / ((1 + fabsf(v)) * (1 + fabsf(v)));
    case KERNELS_SLOPE_SQRT:
        return 0.5f / v;
    default: /* TANH */
        return 1 - v * v;
    }
}

__global__ void slope_kernel(struct kernels_slope s, const float *dy, const float *v, float *dx) {
    EACH(i, s.count) {
        dx[i] = dy[i] * slope_of(s, v[i]);
    }
}

template <class T>
__global__ void slope_channels_last_kernel(struct kernels_slope s, const T *dy, const T *v, T *dx) {
    EACH(i, s.count / KERNELS_LANES) {
        struct lanes<T> from = ((const struct lanes<T> *)dy)[i], out;
        struct lanes<T> at = ((const struct lanes<T> *)v)[i];
        for (int k = 0; k < KERNELS_LANES; k++) {
            int64_t c = (i * KERNELS_LANES + k) % s.pitch;
            put(&out.at[k], c < s.channels ? get(from.at[k]) * slope_of(s, get(at.at[k])) : 0);
        }
        ((struct lanes<T> *)dx)[i] = out;
    }
}

int kernels_run_slope(const struct kernels_slope *s, const void *dy, const void *v, void *dx,
                      void *stream) {
    if (s->type == KERNELS_FLOAT32) {
        return start(stream, blocks_for(s->count), slope_kernel, *s, (const float *)dy,
                     (const float *)v, (float *)dx);
    }
    int64_t blocks = blocks_for(s->count / KERNELS_LANES);
    return s->type == KERNELS_BFLOAT16
               ? start(stream, blocks, slope_channels_last_kernel<__nv_bfloat16>, *s,
                       (const __nv_bfloat16 *)dy, (const __nv_bfloat16 *)v, (__nv_bfloat16 *)dx)
               : start(stream, blocks, slope_channels_last_kernel<__half>, *s, (const __half *)dy,
                       (const __half *)v, (__half *)dx);
}

__global__ void round_kernel(const float *x, float *y, int64_t count) {
    EACH(i, count) {
        y[i] = __bfloat162float(__float2bfloat16_rn(x[i]));
    }
}

int kernels_run_round(const float *x, float *y, int64_t count, void *stream) {
    return start(stream, blocks_for(count), round_kernel, x, y, count);
}

__global__ void softmax_gradient_kernel(int is_log, struct around a, const float *dy,
                                        const float *y, float *dx) {
    for (int64_t row = blockIdx.x; row < a.outer * a.inner; row += gridDim.x) {
        int64_t first = row / a.inner * a.size * a.inner + row % a.inner;
        double sum = 0;
        for (int64_t k = threadIdx.x; k < a.size; k += THREADS) {
            int64_t at = first + k * a.inner;
            sum += (double)dy[at] * (is_log ? 1 : (double)y[at]);
        }
        sum = block_join(sum, add_up());
        for (int64_t k = threadIdx.x; k < a.size; k += THREADS) {
            int64_t at = first + k * a.inner;
            double value = y[at];
            dx[at] = (float)(is_log ? dy[at] - exp(value) * sum : value * (dy[at] - sum));
        }
    }
}

static int64_t blocks_of(int64_t results) {
    const int64_t most = 1 << 20;
    return results < most ? results : most;
}

int kernels_run_softmax_gradient(int is_log, const int64_t sizes[3], const float *dy,
                                 const float *y, float *dx, void *stream) {
    return start(stream, blocks_of(sizes[1] ? sizes[0] * sizes[2] : 0), softmax_gradient_kernel,
                 is_log, around_of(sizes), dy, y, dx);
}

/* The last step of splitmix64. The CPU uses the same generator
 * (agent/engine/device/cpu/training/gradient_norm.c), so both drop the same elements. */
static __device__ uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__global__ void dropout_kernel(struct kernels_dropout d, float factor, const float *x,
                               const int64_t *keys, float *y) {
    EACH(i, d.outer * d.samples * d.each) {
        int64_t row = i / d.each, place = row / d.samples * d.each + i % d.each;
        uint64_t stream = mix(mix((uint64_t)keys[row % d.samples]) + d.salt);
        uint64_t draw = mix(stream + (uint64_t)(place + 1) * 0x9e3779b97f4a7c15u);
        bool stays = (double)(draw >> 11) * 0x1p-53 >= (double)d.ratio;
        y[i] = stays ? x[i] * factor : 0;
    }
}

int kernels_run_dropout(const struct kernels_dropout *d, const float *x, const int64_t *keys,
                        float *y, void *stream) {
    float factor = (float)(1 / (1 - (double)d->ratio));
    int64_t count = d->outer * d->samples * d->each;
    return start(stream, blocks_for(count), dropout_kernel, *d, factor, x, keys, y);
}

/* ---- losses --------------------------------------------------------------------------------- */

struct earlier {
    __device__ int64_t operator()(int64_t a, int64_t b) const {
        return a < b ? a : b;
    }
};

/* One block per sample. partial: loss, and 1 if the prediction is correct. */
__global__ void cross_entropy_kernel(struct kernels_loss l) {
    double scale = *l.scale;
    for (int64_t row = blockIdx.x; row < l.samples; row += gridDim.x) {
        const float *x = l.x + row * l.classes;
        int64_t label = l.labels[row], best = l.classes;
        float most = -INFINITY;
        double sum = 0, loss = 0;
        for (int64_t k = threadIdx.x; k < l.classes; k += THREADS) {
            most = greater_one()(x[k], most);
        }
        most = block_join(most, greater_one());
        for (int64_t k = threadIdx.x; k < l.classes; k += THREADS) {
            best = x[k] == most && k < best ? k : best;
            sum += exp((double)x[k] - most);
        }
        best = block_join(best, earlier());
        sum = block_join(sum, add_up());
        for (int64_t k = threadIdx.x; k < l.classes; k += THREADS) {
            double target = l.smoothing / (double)l.classes + (k == label ? 1 - l.smoothing : 0);
            double logarithm = (double)x[k] - most - log(sum);
            loss -= target > 0 ? target * logarithm : 0;
            l.dx[row * l.classes + k] = (float)(scale * (exp(logarithm) - target));
        }
        loss = block_join(loss, add_up());
        if (threadIdx.x == 0) {
            bool is_class = label >= 0 && label < l.classes;
            l.partial[2 * row] = is_class ? loss : NAN;
            l.partial[2 * row + 1] = best == label;
        }
    }
}

/* One block adds up l.partial: `count` pairs of loss and correctness (step 2), or losses (step 1).
 */
__global__ void finish_loss_kernel(struct kernels_loss l, int64_t count, int step, double factor) {
    double loss = 0, correct = 0;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
        loss += l.partial[i * step];
        correct += step > 1 ? l.partial[i * step + 1] : 0;
    }
    loss = block_join(loss, add_up());
    correct = block_join(correct, add_up());
    if (threadIdx.x == 0) {
        *l.loss = (float)(loss * *l.scale * factor);
        if (l.correct) {
            *l.correct = (float)correct;
        }
    }
}

int kernels_run_cross_entropy(const struct kernels_loss *l, void *stream) {
    int result = start(stream, blocks_of(l->samples), cross_entropy_kernel, *l);
    return result != cudaSuccess ? result
                                 : start(stream, 1, finish_loss_kernel, *l, l->samples, 2, 1.0);
}

__global__ void mean_squared_kernel(struct kernels_loss l, int64_t count, double factor) {
    double scale = *l.scale * factor, sum = 0;
    EACH(i, count) {
        double difference = (double)l.x[i] - l.target[i];
        sum += difference * difference;
        l.dx[i] = (float)(2 * scale * difference);
    }
    sum = block_join(sum, add_up());
    if (threadIdx.x == 0) {
        l.partial[blockIdx.x] = sum;
    }
}

int kernels_run_mean_squared(const struct kernels_loss *l, void *stream) {
    int64_t each = l->classes > 0 ? l->classes : 1;
    double factor = 1 / (double)each;
    int result = start(stream, KERNELS_LOSS_PIECES, mean_squared_kernel, *l,
                       l->samples * l->classes, factor);
    return result != cudaSuccess
               ? result
               : start(stream, 1, finish_loss_kernel, *l, (int64_t)KERNELS_LOSS_PIECES, 1, factor);
}
