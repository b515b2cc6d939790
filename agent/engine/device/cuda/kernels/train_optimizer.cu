// SPDX-License-Identifier: Apache-2.0
/* Optimizer steps, and the norm of all gradients. Sums are double, in pieces that
 * do not depend on the GPU, so that the bits are the same on every one. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_train.h"

/* ---- the optimizer -------------------------------------------------------------------------- */

__device__ float rate_of(const struct kernels_optimizer &o) {
    return o.factor * o.numbers[KERNELS_NUMBER_RATE];
}

/* The share of w that decoupled decay leaves. */
__device__ float keep_of(const struct kernels_optimizer &o) {
    return 1 - rate_of(o) * o.decoupled_decay;
}

/* The clipped gradient. Comparisons, because fminf would hide NaN. */
__device__ float clipped(const struct kernels_optimizer &o, int64_t i) {
    float limit = o.numbers[KERNELS_NUMBER_LIMIT];
    float scaled = o.numbers[KERNELS_NUMBER_GRADIENT] * o.g[i];
    return scaled > limit ? limit : scaled < -limit ? -limit : scaled;
}

__global__ void plain_kernel(struct kernels_optimizer o) {
    float rate = rate_of(o), keep = keep_of(o);
    EACH(i, o.count) {
        o.new_w[i] = keep * o.w[i] - rate * (clipped(o, i) + o.decay * o.w[i]);
    }
}

__global__ void momentum_kernel(struct kernels_optimizer o) {
    float rate = rate_of(o), keep = keep_of(o), momentum = o.numbers[KERNELS_NUMBER_BETA1];
    float ratio = o.ratio ? (float)*o.ratio : 1;
    bool is_nesterov = o.kind == KERNELS_OPTIMIZER_NESTEROV;
    EACH(i, o.count) {
        float w = o.w[i], d = ratio * (clipped(o, i) + o.decay * w);
        float velocity = momentum * o.states[0][i] + d;
        o.new_states[0][i] = velocity;
        o.new_w[i] = keep * w - rate * (is_nesterov ? d + momentum * velocity : velocity);
    }
}

__global__ void adam_kernel(struct kernels_optimizer o) {
    const float *numbers = o.numbers;
    float rate = rate_of(o) * numbers[KERNELS_NUMBER_BIAS_CORRECTION1], keep = keep_of(o);
    float bias_correction2 = numbers[KERNELS_NUMBER_BIAS_CORRECTION2];
    float beta1 = numbers[KERNELS_NUMBER_BETA1];
    float one_minus_beta1 = numbers[KERNELS_NUMBER_ONE_MINUS_BETA1];
    float beta2 = numbers[KERNELS_NUMBER_BETA2], epsilon = numbers[KERNELS_NUMBER_EPSILON];
    float one_minus_beta2 = numbers[KERNELS_NUMBER_ONE_MINUS_BETA2];
    EACH(i, o.count) {
        float w = o.w[i], d = clipped(o, i) + o.decay * w;
        float mean = beta1 * o.states[0][i] + one_minus_beta1 * d;
        float square = beta2 * o.states[1][i] + one_minus_beta2 * d * d;
        o.new_states[0][i] = mean;
        o.new_states[1][i] = square;
        o.new_w[i] = keep * w - rate * mean / (sqrtf(square) * bias_correction2 + epsilon);
    }
}

__global__ void square_kernel(struct kernels_optimizer o) {
    float rate = rate_of(o), keep = keep_of(o), beta2 = o.numbers[KERNELS_NUMBER_BETA2];
    float one_minus_beta2 = o.numbers[KERNELS_NUMBER_ONE_MINUS_BETA2];
    float epsilon = o.numbers[KERNELS_NUMBER_EPSILON];
    EACH(i, o.count) {
        float w = o.w[i], d = clipped(o, i) + o.decay * w;
        float square = beta2 * o.states[0][i] + one_minus_beta2 * d * d;
        o.new_states[0][i] = square;
        o.new_w[i] = keep * w - rate * d / (sqrtf(square) + epsilon);
    }
}

/* ---- ratios of norms ------------------------------------------------------------------------ */

__device__ void put_squares(const struct kernels_optimizer &o, double w, double u) {
    w = block_join(w, add_up());
    u = block_join(u, add_up());
    if (threadIdx.x == 0) {
        o.ratio[1 + 2 * blockIdx.x] = w;
        o.ratio[2 + 2 * blockIdx.x] = u;
    }
}

/* LARS: the squares of w and of the clipped g. */
__global__ void lars_squares_kernel(struct kernels_optimizer o) {
    double w = 0, g = 0;
    EACH(i, o.count) {
        double own = (double)clipped(o, i);
        w += (double)o.w[i] * o.w[i];
        g += own * own;
    }
    put_squares(o, w, g);
}

/* LAMB's update before its ratio, from the new moments. */
__device__ float lamb_update(const struct kernels_optimizer &o, int64_t i) {
    const float *numbers = o.numbers;
    float mean = numbers[KERNELS_NUMBER_BIAS_CORRECTION1] * o.new_states[0][i];
    float root = sqrtf(o.new_states[1][i]) * numbers[KERNELS_NUMBER_BIAS_CORRECTION2];
    return mean / (root + numbers[KERNELS_NUMBER_EPSILON]) + o.decay * o.w[i];
}

__global__ void lamb_moments_kernel(struct kernels_optimizer o) {
    const float *numbers = o.numbers;
    double w = 0, u = 0;
    EACH(i, o.count) {
        float d = clipped(o, i);
        o.new_states[0][i] = numbers[KERNELS_NUMBER_BETA1] * o.states[0][i] +
                             numbers[KERNELS_NUMBER_ONE_MINUS_BETA1] * d;
        o.new_states[1][i] = numbers[KERNELS_NUMBER_BETA2] * o.states[1][i] +
                             numbers[KERNELS_NUMBER_ONE_MINUS_BETA2] * d * d;
        double update = (double)lamb_update(o, i);
        w += (double)o.w[i] * o.w[i];
        u += update * update;
    }
    if (o.ratio) {
        put_squares(o, w, u);
    }
}

__global__ void lamb_kernel(struct kernels_optimizer o) {
    float step = rate_of(o) * (o.ratio ? (float)*o.ratio : 1);
    EACH(i, o.count) {
        o.new_w[i] = o.w[i] - step * lamb_update(o, i);
    }
}

/* trust |w| / (|u| + decay |w|), decay for LARS only; 1 if one of the norms is 0. */
__global__ void ratio_kernel(struct kernels_optimizer o) {
    double w = 0, u = 0;
    double decay = o.kind == KERNELS_OPTIMIZER_LAMB ? 0 : (double)o.decay;
    for (int i = threadIdx.x; i < KERNELS_LOSS_PIECES; i += THREADS) {
        w += o.ratio[1 + 2 * i];
        u += o.ratio[2 + 2 * i];
    }
    w = sqrt(block_join(w, add_up()));
    u = sqrt(block_join(u, add_up()));
    if (threadIdx.x == 0) {
        *o.ratio = w > 0 && u > 0 ? (double)o.trust * w / (u + decay * w) : 1;
    }
}

static int run_sums(const struct kernels_optimizer *o, void *stream) {
    int result = cudaSuccess;
    if (o->kind == KERNELS_OPTIMIZER_LAMB) {
        result = start(stream, KERNELS_LOSS_PIECES, lamb_moments_kernel, *o);
    } else if (o->ratio) {
        result = start(stream, KERNELS_LOSS_PIECES, lars_squares_kernel, *o);
    }
    return result != cudaSuccess || !o->ratio ? result : start(stream, 1, ratio_kernel, *o);
}

int kernels_run_optimizer(const struct kernels_optimizer *o, void *stream) {
    int64_t blocks = blocks_for(o->count);
    int result = run_sums(o, stream);
    if (result != cudaSuccess) {
        return result;
    }
    switch (o->kind) {
    case KERNELS_OPTIMIZER_PLAIN:
        return start(stream, blocks, plain_kernel, *o);
    case KERNELS_OPTIMIZER_ADAM:
        return start(stream, blocks, adam_kernel, *o);
    case KERNELS_OPTIMIZER_LAMB:
        return start(stream, blocks, lamb_kernel, *o);
    case KERNELS_OPTIMIZER_SQUARE:
        return start(stream, blocks, square_kernel, *o);
    default:
        return start(stream, blocks, momentum_kernel, *o);
    }
}

/* ---- the norm of all gradients -------------------------------------------------------------- */

__global__ void norm_squares_kernel(const float *x, int64_t count, double *partial) {
    double sum = 0;
    EACH(i, count) {
        sum += (double)x[i] * x[i];
    }
    sum = block_join(sum, add_up());
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

__global__ void norm_root_kernel(float *norm, const double *partial) {
    double sum = 0;
    for (int i = threadIdx.x; i < KERNELS_LOSS_PIECES; i += THREADS) {
        sum += partial[i];
    }
    sum = block_join(sum, add_up());
    if (threadIdx.x == 0) {
        *norm = (float)sqrt(sum);
    }
}

int kernels_run_global_norm(const float *x, int64_t count, float *norm, double *partial,
                            void *stream) {
    int result = start(stream, KERNELS_LOSS_PIECES, norm_squares_kernel, x, count, partial);
    return result != cudaSuccess ? result : start(stream, 1, norm_root_kernel, norm, partial);
}
