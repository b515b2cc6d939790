// SPDX-License-Identifier: Apache-2.0
/* Gradients of windows. Each number is made by one thread (or block) that looks for what it went
 * into: no additions meet in memory, so the order is always the same. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"
#include "agent/engine/device/cuda/kernels/kernels_train.h"

/* The outputs whose windows may hold pixel i: first <= o < last. */
static __device__ void windows_of(const struct kernels_window &w, int dim, int64_t i,
                                  int64_t *first, int64_t *last) {
    int64_t at = i + w.pad_begin[dim], reach = at - (w.kernel[dim] - 1) * w.dilation[dim];
    *first = reach > 0 ? (reach + w.stride[dim] - 1) / w.stride[dim] : 0;
    *last = at / w.stride[dim] + 1;
    *last = *last < w.out[dim] ? *last : w.out[dim];
}

/* The tap of output o that meets pixel i; -1: none does. */
static __device__ int64_t tap_of(const struct kernels_window &w, int dim, int64_t o, int64_t i) {
    int64_t at = i + w.pad_begin[dim] - o * w.stride[dim];
    return at % w.dilation[dim] == 0 ? at / w.dilation[dim] : -1;
}

static __device__ int64_t pixel_of(const struct kernels_window &w, int dim, int64_t o, int64_t k) {
    return o * w.stride[dim] + k * w.dilation[dim] - w.pad_begin[dim];
}

/* Cells of a window that lie in the padded input, and in the input. */
static __device__ double cells_of(const struct kernels_window &w, int dim, int64_t o,
                                  int counts_pads) {
    int64_t end = w.in[dim] + (counts_pads ? w.pad_end[dim] : 0), cells = 0;
    for (int64_t k = 0; k < w.kernel[dim]; k++) {
        int64_t at = pixel_of(w, dim, o, k);
        cells += at < end && (counts_pads || at >= 0);
    }
    return (double)cells;
}

/* Which pixel of the plane x is the greatest under output (d, h, v): the first of equal ones, NaN
 * above all. */
static __device__ int64_t greatest(const struct kernels_window &w, const float *x,
                                   const int64_t o[3]) {
    int64_t best = -1;
    float most = 0;
    for (int64_t kd = 0; kd < w.kernel[0]; kd++) {
        int64_t d = pixel_of(w, 0, o[0], kd);
        for (int64_t kh = 0; kh < w.kernel[1] && d >= 0 && d < w.in[0]; kh++) {
            int64_t h = pixel_of(w, 1, o[1], kh);
            for (int64_t kv = 0; kv < w.kernel[2] && h >= 0 && h < w.in[1]; kv++) {
                int64_t v = pixel_of(w, 2, o[2], kv), at = (d * w.in[1] + h) * w.in[2] + v;
                if (v >= 0 && v < w.in[2] && (best < 0 || x[at] > most || x[at] != x[at])) {
                    best = at;
                    most = x[at];
                }
            }
        }
    }
    return best;
}

__global__ void pool_gradient_kernel(struct kernels_window w, int is_max, int counts_pads,
                                     const float *x, const float *dy, float *dx, int64_t count) {
    int64_t plane_size = w.in[0] * w.in[1] * w.in[2];
    EACH(i, count) {
        int64_t plane = i / plane_size, own = i % plane_size, first[3], last[3], o[3];
        const int64_t at[3] = {own / w.in[2] / w.in[1], own / w.in[2] % w.in[1], own % w.in[2]};
        float sum = 0;
        for (int dim = 0; dim < 3; dim++) {
            windows_of(w, dim, at[dim], &first[dim], &last[dim]);
        }
        for (o[0] = first[0]; o[0] < last[0]; o[0]++) {
            for (o[1] = first[1]; o[1] < last[1]; o[1]++) {
                for (o[2] = first[2]; o[2] < last[2]; o[2]++) {
                    bool meets = tap_of(w, 0, o[0], at[0]) >= 0 && tap_of(w, 1, o[1], at[1]) >= 0 &&
                                 tap_of(w, 2, o[2], at[2]) >= 0;
                    float from =
                        dy[((plane * w.out[0] + o[0]) * w.out[1] + o[1]) * w.out[2] + o[2]];
                    if (!meets) {
                        continue;
                    }
                    if (!is_max) {
                        sum += (float)(from / (cells_of(w, 0, o[0], counts_pads) *
                                               cells_of(w, 1, o[1], counts_pads) *
                                               cells_of(w, 2, o[2], counts_pads)));
                    } else if (greatest(w, x + plane * plane_size, o) == own) {
                        sum += from;
                    }
                }
            }
        }
        dx[i] = sum;
    }
}

int kernels_run_pool_gradient(const struct kernels_window *w, int is_max, int counts_pads,
                              const float *x, const float *dy, float *dx, void *stream) {
    int64_t count = w->n * w->c * w->in[0] * w->in[1] * w->in[2];
    return start(stream, blocks_for(count), pool_gradient_kernel, *w, is_max, counts_pads, x, dy,
                 dx, count);
}

/* To sums what output (h, v) of eight channels gives to its pixel `own`. */
template <class T>
static __device__ void add_greatest(const struct kernels_window_channels_last &p,
                                    const struct lanes<T> *x, int64_t h, int64_t v, int64_t own,
                                    const struct lanes<T> &dy, float sums[KERNELS_LANES]) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    float most[KERNELS_LANES];
    int64_t best[KERNELS_LANES];
    for (int k = 0; k < KERNELS_LANES; k++) {
        best[k] = -1;
        most[k] = 0;
    }
    for (int64_t kh = 0; kh < w.kernel[1]; kh++) {
        int64_t at_h = pixel_of(w, 1, h, kh);
        for (int64_t kv = 0; kv < w.kernel[2] && at_h >= 0 && at_h < w.in[1]; kv++) {
            int64_t at_v = pixel_of(w, 2, v, kv), at = at_h * w.in[2] + at_v;
            if (at_v < 0 || at_v >= w.in[2]) {
                continue;
            }
            struct lanes<T> in = x[at * groups];
            for (int k = 0; k < KERNELS_LANES; k++) {
                float value = get(in.at[k]);
                if (best[k] < 0 || value > most[k] || value != value) {
                    best[k] = at;
                    most[k] = value;
                }
            }
        }
    }
    for (int k = 0; k < KERNELS_LANES; k++) {
        sums[k] += best[k] == own ? get(dy.at[k]) : 0;
    }
}

template <class T>
__global__ void pool_gradient_channels_last_kernel(struct kernels_window_channels_last p,
                                                   const T *x, const T *dy, T *dx) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    EACH(i, w.n * w.in[1] * w.in[2] * groups) {
        int64_t group = i % groups, v = i / groups % w.in[2], h = i / groups / w.in[2] % w.in[1];
        int64_t n = i / groups / w.in[2] / w.in[1], first[2], last[2];
        float sums[KERNELS_LANES] = {};
        windows_of(w, 1, h, &first[0], &last[0]);
        windows_of(w, 2, v, &first[1], &last[1]);
        for (int64_t oh = first[0]; oh < last[0]; oh++) {
            for (int64_t ov = first[1]; ov < last[1]; ov++) {
                int64_t from = ((n * w.out[1] + oh) * w.out[2] + ov) * groups + group;
                struct lanes<T> in = ((const struct lanes<T> *)dy)[from];
                if (tap_of(w, 1, oh, h) < 0 || tap_of(w, 2, ov, v) < 0) {
                    continue;
                }
                if (p.is_max) {
                    const struct lanes<T> *plane =
                        (const struct lanes<T> *)x + n * w.in[1] * w.in[2] * groups + group;
                    add_greatest(p, plane, oh, ov, h * w.in[2] + v, in, sums);
                    continue;
                }
                float cells =
                    (float)(cells_of(w, 1, oh, p.counts_pads) * cells_of(w, 2, ov, p.counts_pads));
                for (int k = 0; k < KERNELS_LANES; k++) {
                    sums[k] += get(in.at[k]) / cells;
                }
            }
        }
        struct lanes<T> out;
        for (int k = 0; k < KERNELS_LANES; k++) {
            put(&out.at[k], group * KERNELS_LANES + k < w.c ? sums[k] : 0);
        }
        ((struct lanes<T> *)dx)[i] = out;
    }
}

int kernels_run_pool_gradient_channels_last(const struct kernels_window_channels_last *p,
                                            const void *x, const void *dy, void *dx, void *stream) {
    const struct kernels_window *w = &p->window;
    int64_t blocks = blocks_for(w->n * w->in[1] * w->in[2] * (p->pitch / KERNELS_LANES));
    return p->type == KERNELS_BFLOAT16
               ? start(stream, blocks, pool_gradient_channels_last_kernel<__nv_bfloat16>, *p,
                       (const __nv_bfloat16 *)x, (const __nv_bfloat16 *)dy, (__nv_bfloat16 *)dx)
               : start(stream, blocks, pool_gradient_channels_last_kernel<__half>, *p,
                       (const __half *)x, (const __half *)dy, (__half *)dx);
}

/* ---- weights -------------------------------------------------------------------------------- */

/* A block for each weight: over all pictures and small pixels. */
__global__ void conv_weights_kernel(struct kernels_window w, const float *small_side,
                                    const float *large, float *dw, int64_t count) {
    int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2], per_group = w.c / w.groups;
    int64_t pixels = w.out[0] * w.out[1] * w.out[2];
    for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
        int64_t k = index % taps, m = index / taps / per_group;
        int64_t c = m / (w.m / w.groups) * per_group + index / taps % per_group;
        const int64_t tap[3] = {k / w.kernel[2] / w.kernel[1], k / w.kernel[2] % w.kernel[1],
                                k % w.kernel[2]};
        double sum = 0;
        for (int64_t i = threadIdx.x; i < w.n * pixels; i += THREADS) {
            int64_t n = i / pixels, o = i % pixels;
            int64_t d = pixel_of(w, 0, o / w.out[2] / w.out[1], tap[0]);
            int64_t h = pixel_of(w, 1, o / w.out[2] % w.out[1], tap[1]);
            int64_t v = pixel_of(w, 2, o % w.out[2], tap[2]);
            if (d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1] && v >= 0 && v < w.in[2]) {
                float from = large[(((n * w.c + c) * w.in[0] + d) * w.in[1] + h) * w.in[2] + v];
                sum += (double)small_side[(n * w.m + m) * pixels + o] * from;
            }
        }
        sum = block_join(sum, add_up());
        if (threadIdx.x == 0) {
            dw[index] = (float)sum;
        }
    }
}

int kernels_run_conv_weights(const struct kernels_window *w, const float *small_side,
                             const float *large, float *dw, void *stream) {
    int64_t count = w->m * (w->c / w->groups) * w->kernel[0] * w->kernel[1] * w->kernel[2];
    return start(stream, count < 1 << 20 ? count : 1 << 20, conv_weights_kernel, *w, small_side,
                 large, dw, count);
}
