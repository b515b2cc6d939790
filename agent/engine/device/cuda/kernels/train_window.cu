// SPDX-License-Identifier: Apache-2.0
/* Gradients of pools, and of convolution weights. One thread (or block) computes each number from
 * everything that contributes to it. So there are no atomic additions, and results are the same in
 * every run. */
#include "agent/engine/device/cuda/kernels/kernels_train.h"
#include "agent/engine/device/cuda/kernels/window.cuh"

/* The outputs whose windows may contain pixel i: first <= o < last. */
static __device__ void windows_of(const struct kernels_window &w, int dim, int64_t i,
                                  int64_t *first, int64_t *last) {
    int64_t at = i + w.pad_begin[dim], reach = at - (w.kernel[dim] - 1) * w.dilation[dim];
    *first = reach > 0 ? (reach + w.stride[dim] - 1) / w.stride[dim] : 0;
    *last = at / w.stride[dim] + 1;
    *last = *last < w.out[dim] ? *last : w.out[dim];
}

/* The tap of output o that is at pixel i; -1: none. */
static __device__ int64_t tap_of(const struct kernels_window &w, int dim, int64_t o, int64_t i) {
    int64_t at = i + w.pad_begin[dim] - o * w.stride[dim];
    return at % w.dilation[dim] == 0 ? at / w.dilation[dim] : -1;
}

/* The number of taps inside the input (counts_pads: the padded input). */
static __device__ double taps_inside(const struct kernels_window &w, int dim, int64_t o,
                                     int counts_pads) {
    int64_t end = w.in[dim] + (counts_pads ? w.pad_end[dim] : 0), count = 0;
    for (int64_t k = 0; k < w.kernel[dim]; k++) {
        int64_t at = pixel_of(w, dim, o, k);
        count += at < end && (counts_pads || at >= 0);
    }
    return (double)count;
}

/* The index of the greatest pixel in output o's window of the plane x: the first of equal ones; NaN
 * is the greatest. -1: the window is empty. */
static __device__ int64_t greatest(const struct kernels_window &w, const float *x,
                                   const int64_t o[3]) {
    const struct taps taps = taps_of(w, o);
    int64_t best = -1;
    float most = 0;
    for (int64_t kd = taps.begin[0]; kd < taps.end[0]; kd++) {
        for (int64_t kh = taps.begin[1]; kh < taps.end[1]; kh++) {
            int64_t row = pixel_of(w, 0, o[0], kd) * w.in[1] + pixel_of(w, 1, o[1], kh);
            for (int64_t kv = taps.begin[2]; kv < taps.end[2]; kv++) {
                int64_t at = row * w.in[2] + pixel_of(w, 2, o[2], kv);
                bool is_greater = best < 0 || x[at] > most || x[at] != x[at];
                best = is_greater ? at : best;
                most = is_greater ? x[at] : most;
            }
        }
    }
    return best;
}

/* What output o adds to the gradient of pixel `at`. x, dy: the plane of the input, of the output.
 */
static __device__ __forceinline__ float part_of(const struct kernels_pool &p, const float *x,
                                                const float *dy, const int64_t o[3],
                                                const int64_t at[3]) {
    const struct kernels_window &w = p.window;
    if (tap_of(w, 0, o[0], at[0]) < 0 || tap_of(w, 1, o[1], at[1]) < 0 ||
        tap_of(w, 2, o[2], at[2]) < 0) {
        return 0;
    }
    float from = dy[(o[0] * w.out[1] + o[1]) * w.out[2] + o[2]];
    if (p.is_max) {
        return greatest(w, x, o) == (at[0] * w.in[1] + at[1]) * w.in[2] + at[2] ? from : 0;
    }
    return (float)(from / (taps_inside(w, 0, o[0], p.counts_pads) *
                           taps_inside(w, 1, o[1], p.counts_pads) *
                           taps_inside(w, 2, o[2], p.counts_pads)));
}

static __device__ __forceinline__ float sum_parts(const struct kernels_pool &p, const float *x,
                                                  const float *dy, const int64_t at[3]) {
    int64_t first[3], last[3], o[3];
    float sum = 0;
    for (int dim = 0; dim < 3; dim++) {
        windows_of(p.window, dim, at[dim], &first[dim], &last[dim]);
    }
    for (o[0] = first[0]; o[0] < last[0]; o[0]++) {
        for (o[1] = first[1]; o[1] < last[1]; o[1]++) {
            for (o[2] = first[2]; o[2] < last[2]; o[2]++) {
                sum += part_of(p, x, dy, o, at);
            }
        }
    }
    return sum;
}

__global__ void pool_gradient_kernel(struct kernels_pool p, const float *x, const float *dy,
                                     float *dx, int64_t count) {
    const struct kernels_window &w = p.window;
    int64_t in_size = w.in[0] * w.in[1] * w.in[2], out_size = w.out[0] * w.out[1] * w.out[2];
    EACH(i, count) {
        int64_t plane = i / in_size, own = i % in_size;
        const int64_t at[3] = {own / w.in[2] / w.in[1], own / w.in[2] % w.in[1], own % w.in[2]};
        dx[i] = sum_parts(p, p.is_max ? x + plane * in_size : NULL, dy + plane * out_size, at);
    }
}

int kernels_run_pool_gradient(const struct kernels_pool *p, const float *x, const float *dy,
                              float *dx, void *stream) {
    const struct kernels_window *w = &p->window;
    int64_t count = w->n * w->c * w->in[0] * w->in[1] * w->in[2];
    return start(stream, blocks_for(count), pool_gradient_kernel, *p, x, dy, dx, count);
}

/* The greatest pixel of a window in each channel: the first of equal ones; NaN is the greatest. */
struct greatest_lanes {
    int64_t pixels[KERNELS_LANES]; /* -1: none yet */
    float values[KERNELS_LANES];
    template <class T>
    __device__ __forceinline__ void operator()(const struct lanes<T> &in, int64_t /* tap */,
                                               int64_t pixel) {
        for (int k = 0; k < KERNELS_LANES; k++) {
            float value = get(in.at[k]);
            if (pixels[k] < 0 || value > values[k] || value != value) {
                pixels[k] = pixel;
                values[k] = value;
            }
        }
    }
};

/* Adds what output o adds to the gradient of its pixel `own`. */
template <class T>
static __device__ __forceinline__ void
add_greatest(const struct kernels_window_channels_last &p, const T *x, const struct output_at &o,
             int64_t own, const struct lanes<T> &dy, float sums[KERNELS_LANES]) {
    struct greatest_lanes best = {};
    for (int k = 0; k < KERNELS_LANES; k++) {
        best.pixels[k] = -1;
    }
    each_tap(p, x, o, best);
    for (int k = 0; k < KERNELS_LANES; k++) {
        sums[k] += best.pixels[k] == own ? get(dy.at[k]) : 0;
    }
}

/* The same for maximum and average pools; at: row and column of the pixel. */
template <class T>
static __device__ __forceinline__ void
add_output(const struct kernels_window_channels_last &p, const T *x, const T *dy,
           const struct output_at &o, const int64_t at[2], float sums[KERNELS_LANES]) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    if (tap_of(w, 1, o.h, at[0]) < 0 || tap_of(w, 2, o.v, at[1]) < 0) {
        return;
    }
    int64_t from = ((o.n * w.out[1] + o.h) * w.out[2] + o.v) * groups + o.group;
    struct lanes<T> in = ((const struct lanes<T> *)dy)[from];
    if (p.is_max) {
        add_greatest(p, x, o, at[0] * w.in[2] + at[1], in, sums);
        return;
    }
    float divisor =
        (float)(taps_inside(w, 1, o.h, p.counts_pads) * taps_inside(w, 2, o.v, p.counts_pads));
    for (int k = 0; k < KERNELS_LANES; k++) {
        sums[k] += get(in.at[k]) / divisor;
    }
}

template <class T>
__global__ void pool_gradient_channels_last_kernel(struct kernels_window_channels_last p,
                                                   const T *x, const T *dy, T *dx) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    EACH(i, w.n * w.in[1] * w.in[2] * groups) {
        int64_t group = i % groups, n = i / groups / w.in[2] / w.in[1], first[2], last[2];
        const int64_t at[2] = {i / groups / w.in[2] % w.in[1], i / groups % w.in[2]};
        float sums[KERNELS_LANES] = {};
        windows_of(w, 1, at[0], &first[0], &last[0]);
        windows_of(w, 2, at[1], &first[1], &last[1]);
        for (int64_t h = first[0]; h < last[0]; h++) {
            for (int64_t v = first[1]; v < last[1]; v++) {
                add_output(p, x, dy, {n, h, v, group}, at, sums);
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

/* One block per weight sums over all samples and all pixels of the small side. */
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
