// SPDX-License-Identifier: Apache-2.0
/* Kernels for channels-last values of a 16-bit type; sums are float32. One thread computes
 * KERNELS_LANES channels of a pixel. */
#include "agent/engine/device/cuda/kernels/window.cuh"

/* CALL(T) for the type T that is chosen at run time. */
#define OF_TYPE(type, CALL) ((type) == KERNELS_BFLOAT16 ? CALL(__nv_bfloat16) : CALL(__half))

/* Adjacent threads read adjacent pixels of a plane, so reads are coalesced. */
template <class T>
__global__ void to_channels_last_kernel(struct kernels_channels_last l, const float *x, T *y) {
    int groups = l.pitch / KERNELS_LANES;
    EACH(i, l.n * groups * l.pixels) {
        int64_t pixel = i % l.pixels, group = i / l.pixels % groups, n = i / l.pixels / groups;
        struct lanes<T> out;
        for (int k = 0; k < KERNELS_LANES; k++) {
            int64_t c = group * KERNELS_LANES + k;
            put(&out.at[k], c < l.channels ? x[(n * l.channels + c) * l.pixels + pixel] : 0);
        }
        ((struct lanes<T> *)y)[(n * l.pixels + pixel) * groups + group] = out;
    }
}

int kernels_run_to_channels_last(const struct kernels_channels_last *l, const float *x, void *y,
                                 void *stream) {
    int64_t blocks = blocks_for(l->n * l->pixels * (l->pitch / KERNELS_LANES));
#define TO_LAST(type) start(stream, blocks, to_channels_last_kernel<type>, *l, x, (type *)y)
    return OF_TYPE(l->type, TO_LAST);
}

template <class T>
__global__ void from_channels_last_kernel(struct kernels_channels_last l, const T *x, float *y) {
    int groups = l.pitch / KERNELS_LANES;
    EACH(i, l.n * groups * l.pixels) {
        int64_t pixel = i % l.pixels, group = i / l.pixels % groups, n = i / l.pixels / groups;
        struct lanes<T> in = ((const struct lanes<T> *)x)[(n * l.pixels + pixel) * groups + group];
        for (int k = 0; k < KERNELS_LANES; k++) {
            int64_t c = group * KERNELS_LANES + k;
            if (c < l.channels) {
                y[(n * l.channels + c) * l.pixels + pixel] = get(in.at[k]);
            }
        }
    }
}

int kernels_run_from_channels_last(const struct kernels_channels_last *l, const void *x, float *y,
                                   void *stream) {
    int64_t blocks = blocks_for(l->n * l->pixels * (l->pitch / KERNELS_LANES));
#define FROM_LAST(type)                                                                            \
    start(stream, blocks, from_channels_last_kernel<type>, *l, (const type *)x, y)
    return OF_TYPE(l->type, FROM_LAST);
}

/* ---- instance norm -------------------------------------------------------------------------- */

/* One block sums a chunk of the pixels of an activation: `rows` threads per group of KERNELS_LANES
 * channels, for up to 32 groups at a time. Values are summed relative to the activation's first
 * pixel, which avoids cancellation where the mean is large and the deviation small. */
template <class T> __global__ void moments_kernel(struct kernels_moments m, int64_t chunks) {
    __shared__ float shared[THREADS][2 * KERNELS_LANES];
    int groups = m.nhwc.pitch / KERNELS_LANES, columns = groups < 32 ? groups : 32;
    int rows = THREADS / columns, column = threadIdx.x % columns, row = threadIdx.x / columns;
    int64_t n = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    int64_t first = chunk * KERNELS_NORM_CHUNK, last = first + KERNELS_NORM_CHUNK;
    last = last < m.nhwc.pixels ? last : m.nhwc.pixels;
    const struct lanes<T> *x = (const struct lanes<T> *)m.x + n * m.nhwc.pixels * groups;
    for (int base = 0; base < groups; base += columns) {
        int group = base + column;
        float sums[2 * KERNELS_LANES] = {};
        bool has_work = group < groups && row < rows;
        struct lanes<T> origin = x[group < groups ? group : 0];
        for (int64_t pixel = first + row; has_work && pixel < last; pixel += rows) {
            struct lanes<T> in = x[pixel * groups + group];
            for (int k = 0; k < KERNELS_LANES; k++) {
                float value = get(in.at[k]) - get(origin.at[k]);
                sums[k] += value;
                sums[KERNELS_LANES + k] += value * value;
            }
        }
        add_rows(shared, sums, rows, columns, base, groups,
                 m.partial + (n * chunks + chunk) * m.nhwc.pitch * 2);
        __syncthreads();
    }
}

template <class T> __global__ void factors_kernel(struct kernels_moments m, int64_t chunks) {
    EACH(i, m.nhwc.n * m.nhwc.pitch) {
        int64_t n = i / m.nhwc.pitch, c = i % m.nhwc.pitch;
        double sum = 0, squares = 0, count = (double)m.nhwc.pixels;
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            const float *from = &m.partial[((n * chunks + chunk) * m.nhwc.pitch + c) * 2];
            sum += from[0];
            squares += from[1];
        }
        double shifted = sum / count, variance = squares / count - shifted * shifted;
        double origin = get(((const T *)m.x)[n * m.nhwc.pixels * m.nhwc.pitch + c]);
        double factor =
            c < m.nhwc.channels ? m.gamma[c] / sqrt((variance > 0 ? variance : 0) + m.epsilon) : 0;
        m.factors[i * 2] = (float)factor;
        m.factors[i * 2 + 1] =
            c < m.nhwc.channels ? (float)(m.beta[c] - (shifted + origin) * factor) : 0;
    }
}

int kernels_run_moments(const struct kernels_moments *m, void *stream) {
    int64_t chunks = (m->nhwc.pixels + KERNELS_NORM_CHUNK - 1) / KERNELS_NORM_CHUNK;
    int64_t blocks = m->nhwc.n * chunks;
#define MOMENTS(type) start(stream, blocks, moments_kernel<type>, *m, chunks)
#define FACTORS(type)                                                                              \
    start(stream, blocks_for(m->nhwc.n * m->nhwc.pitch), factors_kernel<type>, *m, chunks)
    int result = OF_TYPE(m->nhwc.type, MOMENTS);
    return result != cudaSuccess ? result : OF_TYPE(m->nhwc.type, FACTORS);
}

template <class T> __global__ void apply_kernel(struct kernels_apply a) {
    int groups = a.pitch / KERNELS_LANES;
    EACH(i, a.n * a.out_h * a.out_w * groups) {
        int group = (int)(i % groups);
        int64_t w = i / groups % a.out_w, h = i / groups / a.out_w, n = h / a.out_h;
        h = edge_index(h % a.out_h - a.top, a.h * a.repeat, a.edge);
        w = edge_index(w - a.left, a.w * a.repeat, a.edge);
        struct lanes<T> in = {}, out;
        bool is_inside = h >= 0 && w >= 0;
        if (is_inside) {
            int64_t pixel = (n * a.h + h / a.repeat) * a.w + w / a.repeat;
            in = ((const struct lanes<T> *)a.x)[pixel * groups + group];
        }
        for (int k = 0; k < KERNELS_LANES; k++) {
            int c = group * KERNELS_LANES + k;
            float value = get(in.at[k]);
            if (a.factors) {
                const float *factors = &a.factors[(n * a.pitch + c) * 2];
                value = value * factors[0] + factors[1];
            }
            value = clip(value, a.low, a.high);
            put(&out.at[k], is_inside && c < a.channels ? value : 0);
        }
        if (a.other) {
            struct lanes<T> other = ((const struct lanes<T> *)a.other)[i];
            for (int k = 0; k < KERNELS_LANES; k++) {
                put(&out.at[k], get(out.at[k]) + get(other.at[k]));
            }
        }
        ((struct lanes<T> *)a.y)[i] = out;
    }
}

int kernels_run_apply(const struct kernels_apply *a, void *stream) {
    int64_t blocks = blocks_for(a->n * a->out_h * a->out_w * (a->pitch / KERNELS_LANES));
#define APPLY(type) start(stream, blocks, apply_kernel<type>, *a)
    return OF_TYPE(a->type, APPLY);
}

/* ---- windows -------------------------------------------------------------------------------- */

/* The sums, or maxima, over a window, per channel. */
struct pooled_lanes {
    int is_max;
    int64_t count;
    float values[KERNELS_LANES];
    template <class T>
    __device__ __forceinline__ void operator()(const struct lanes<T> &in, int64_t /* tap */,
                                               int64_t /* pixel */) {
        count++;
        for (int k = 0; k < KERNELS_LANES; k++) {
            float value = get(in.at[k]);
            values[k] = !is_max                               ? values[k] + value
                        : value > values[k] || value != value ? value
                                                              : values[k];
        }
    }
};

/* The number of taps inside the padded activation; dilation is 1. */
static __device__ __forceinline__ float padded_taps(const struct kernels_window &w,
                                                    const struct output_at &o) {
    int64_t end_h = pixel_of(w, 1, o.h, 0) + w.kernel[1], over_h = end_h - w.in[1] - w.pad_end[1];
    int64_t end_v = pixel_of(w, 2, o.v, 0) + w.kernel[2], over_v = end_v - w.in[2] - w.pad_end[2];
    return (float)((w.kernel[1] - (over_h > 0 ? over_h : 0)) *
                   (w.kernel[2] - (over_v > 0 ? over_v : 0)));
}

template <class T>
__global__ void pool_channels_last_kernel(struct kernels_window_channels_last p, const T *x, T *y) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    EACH(i, w.n * w.out[1] * w.out[2] * groups) {
        const struct output_at o = output_of(w, groups, i);
        struct pooled_lanes pooled = {p.is_max, 0, {}};
        for (int k = 0; k < KERNELS_LANES; k++) {
            pooled.values[k] = p.is_max ? -INFINITY : 0;
        }
        each_tap(p, x, o, pooled);
        float divisor = p.counts_pads ? padded_taps(w, o) : (float)pooled.count;
        struct lanes<T> out;
        for (int k = 0; k < KERNELS_LANES; k++) {
            float value = pooled.values[k];
            value = p.is_max ? value : divisor > 0 ? value / divisor : 0;
            bool is_padding = o.group * KERNELS_LANES + k >= w.c;
            put(&out.at[k], is_padding ? 0 : clip(value, p.low, p.high));
        }
        ((struct lanes<T> *)y)[i] = out;
    }
}

int kernels_run_pool_channels_last(const struct kernels_window_channels_last *p, const void *x,
                                   void *y, void *stream) {
    const struct kernels_window *w = &p->window;
    int64_t blocks = blocks_for(w->n * w->out[1] * w->out[2] * (p->pitch / KERNELS_LANES));
#define POOL(type)                                                                                 \
    start(stream, blocks, pool_channels_last_kernel<type>, *p, (const type *)x, (type *)y)
    return OF_TYPE(p->type, POOL);
}

/* The sums of products over a window, per channel. weights: [taps, pitch], from this group on. */
struct depthwise_lanes {
    const float *weights;
    int pitch;
    float sums[KERNELS_LANES];
    template <class T>
    __device__ __forceinline__ void operator()(const struct lanes<T> &in, int64_t tap,
                                               int64_t /* pixel */) {
        for (int k = 0; k < KERNELS_LANES; k++) {
            sums[k] += get(in.at[k]) * weights[tap * pitch + k];
        }
    }
};

template <class T>
__global__ void depthwise_kernel(struct kernels_window_channels_last p, const T *x,
                                 const float *weights, const float *bias, T *y) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    EACH(i, w.n * w.out[1] * w.out[2] * groups) {
        const struct output_at o = output_of(w, groups, i);
        int64_t c = o.group * KERNELS_LANES;
        struct depthwise_lanes products = {weights + c, p.pitch, {}};
        for (int k = 0; k < KERNELS_LANES; k++) {
            products.sums[k] = bias ? bias[c + k] : 0;
        }
        each_tap(p, x, o, products);
        struct lanes<T> out;
        for (int k = 0; k < KERNELS_LANES; k++) {
            put(&out.at[k], c + k < w.c ? clip(products.sums[k], p.low, p.high) : 0);
        }
        ((struct lanes<T> *)y)[i] = out;
    }
}

int kernels_run_depthwise(const struct kernels_window_channels_last *p, const void *x,
                          const float *weights, const float *bias, void *y, void *stream) {
    const struct kernels_window *w = &p->window;
    int64_t blocks = blocks_for(w->n * w->out[1] * w->out[2] * (p->pitch / KERNELS_LANES));
#define DEPTHWISE(type)                                                                            \
    start(stream, blocks, depthwise_kernel<type>, *p, (const type *)x, weights, bias, (type *)y)
    return OF_TYPE(p->type, DEPTHWISE);
}

/* One block per sample and group of KERNELS_LANES channels. */
template <class T>
__global__ void global_kernel(struct kernels_channels_last l, int is_max, const T *x, T *y) {
    int groups = l.pitch / KERNELS_LANES;
    for (int64_t at = blockIdx.x; at < l.n * groups; at += gridDim.x) {
        int64_t n = at / groups, group = at % groups;
        float sums[KERNELS_LANES];
        for (int k = 0; k < KERNELS_LANES; k++) {
            sums[k] = is_max ? -INFINITY : 0;
        }
        for (int64_t pixel = threadIdx.x; pixel < l.pixels; pixel += THREADS) {
            struct lanes<T> in =
                ((const struct lanes<T> *)x)[(n * l.pixels + pixel) * groups + group];
            for (int k = 0; k < KERNELS_LANES; k++) {
                float value = get(in.at[k]);
                sums[k] = is_max ? greater_one()(value, sums[k]) : sums[k] + value;
            }
        }
        struct lanes<T> out;
        for (int k = 0; k < KERNELS_LANES; k++) {
            float value = is_max ? block_join(sums[k], greater_one())
                                 : block_join(sums[k], add_up()) / (float)l.pixels;
            put(&out.at[k], group * KERNELS_LANES + k < l.channels ? value : 0);
        }
        if (threadIdx.x == 0) {
            ((struct lanes<T> *)y)[at] = out;
        }
    }
}

int kernels_run_global_pool_channels_last(const struct kernels_channels_last *l, int is_max,
                                          const void *x, void *y, void *stream) {
    int64_t blocks = l->pixels ? l->n * (l->pitch / KERNELS_LANES) : 0;
    blocks = blocks < 1 << 20 ? blocks : 1 << 20;
#define GLOBAL(type)                                                                               \
    start(stream, blocks, global_kernel<type>, *l, is_max, (const type *)x, (type *)y)
    return OF_TYPE(l->type, GLOBAL);
}

__global__ void piece_kernel(struct kernels_piece p, const uint16_t *x, uint16_t *y) {
    int end = p.is_end ? p.y_pitch - p.first : p.channels;
    EACH(i, p.pixels * end) {
        int64_t pixel = i / end, c = i % end;
        y[pixel * p.y_pitch + p.first + c] =
            c < p.channels ? x[pixel * p.x_pitch + c] : (uint16_t)0;
    }
}

int kernels_run_piece(const struct kernels_piece *p, const void *x, void *y, void *stream) {
    int64_t end = p->is_end ? p->y_pitch - p->first : p->channels;
    return start(stream, blocks_for(p->pixels * end), piece_kernel, *p, (const uint16_t *)x,
                 (uint16_t *)y);
}
