// SPDX-License-Identifier: Apache-2.0
/* Convolutions and pools of row-major float32. The convolutions are those that cuDNN does not
 * support: one thread per output, without reuse of inputs. */
#include "agent/engine/device/cuda/kernels/window.cuh"

/* Adds the products of one channel's window to sum. x, weights: this channel. */
static __device__ __forceinline__ float add_window(const struct kernels_window &w, const float *x,
                                                   const float *weights, const int64_t o[3],
                                                   const struct taps &taps, float sum) {
    for (int64_t kd = taps.begin[0]; kd < taps.end[0]; kd++) {
        for (int64_t kh = taps.begin[1]; kh < taps.end[1]; kh++) {
            int64_t row = pixel_of(w, 0, o[0], kd) * w.in[1] + pixel_of(w, 1, o[1], kh);
            const float *tap = weights + (kd * w.kernel[1] + kh) * w.kernel[2];
            for (int64_t kv = taps.begin[2]; kv < taps.end[2]; kv++) {
                sum += tap[kv] * x[row * w.in[2] + pixel_of(w, 2, o[2], kv)];
            }
        }
    }
    return sum;
}

__global__ void conv_kernel(struct kernels_window w, const float *x, const float *weights,
                            const float *bias, float *y, int64_t count) {
    int64_t per_group = w.c / w.groups, outputs = w.m / w.groups;
    int64_t plane = w.in[0] * w.in[1] * w.in[2], kernel = w.kernel[0] * w.kernel[1] * w.kernel[2];
    EACH(i, count) {
        int64_t d = i / w.out[2] / w.out[1], m = d / w.out[0] % w.m, n = d / w.out[0] / w.m;
        const int64_t o[3] = {d % w.out[0], i / w.out[2] % w.out[1], i % w.out[2]};
        const struct taps taps = taps_of(w, o);
        int64_t first = m / outputs * per_group;
        float sum = bias ? bias[m] : 0;
        for (int64_t c = 0; c < per_group; c++) {
            sum = add_window(w, x + (n * w.c + first + c) * plane,
                             weights + (m * per_group + c) * kernel, o, taps, sum);
        }
        y[i] = sum;
    }
}

static int64_t outputs_of(const struct kernels_window *w) {
    return w->n * w->m * w->out[0] * w->out[1] * w->out[2];
}

int kernels_run_conv(const struct kernels_window *w, const float *x, const float *weights,
                     const float *bias, float *y, void *stream) {
    return start(stream, blocks_for(outputs_of(w)), conv_kernel, *w, x, weights, bias, y,
                 outputs_of(w));
}

/* The input index that tap k adds to output o; -1: none. */
static __device__ int64_t source_of(const struct kernels_window &w, int dim, int64_t o, int64_t k) {
    int64_t at = o + w.pad_begin[dim] - k * w.dilation[dim];
    return at >= 0 && at % w.stride[dim] == 0 && at / w.stride[dim] < w.in[dim] ? at / w.stride[dim]
                                                                                : -1;
}

__global__ void conv_transpose_kernel(struct kernels_window w, const float *x, const float *weights,
                                      const float *bias, float *y, int64_t count) {
    int64_t per_group = w.c / w.groups, outputs = w.m / w.groups;
    int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
    EACH(i, count) {
        int64_t v = i % w.out[2], h = i / w.out[2] % w.out[1], d = i / w.out[2] / w.out[1];
        int64_t m = d / w.out[0] % w.m, n = d / w.out[0] / w.m;
        d %= w.out[0];
        float sum = bias ? bias[m] : 0;
        for (int64_t k = 0; k < taps; k++) {
            int64_t at_d = source_of(w, 0, d, k / (w.kernel[1] * w.kernel[2]));
            int64_t at_h = source_of(w, 1, h, k / w.kernel[2] % w.kernel[1]);
            int64_t at_v = source_of(w, 2, v, k % w.kernel[2]);
            if (at_d < 0 || at_h < 0 || at_v < 0) {
                continue;
            }
            for (int64_t c = m / outputs * per_group; c < (m / outputs + 1) * per_group; c++) {
                int64_t plane = (n * w.c + c) * w.in[0] + at_d;
                sum += weights[(c * outputs + m % outputs) * taps + k] *
                       x[(plane * w.in[1] + at_h) * w.in[2] + at_v];
            }
        }
        y[i] = sum;
    }
}

int kernels_run_conv_transpose(const struct kernels_window *w, const float *x, const float *weights,
                               const float *bias, float *y, void *stream) {
    return start(stream, blocks_for(outputs_of(w)), conv_transpose_kernel, *w, x, weights, bias, y,
                 outputs_of(w));
}

/* The number of taps inside the padded input, by which count_include_pad divides. */
static __device__ int64_t padded_taps(const struct kernels_window &w, int dim, int64_t o) {
    int64_t first = o * w.stride[dim] - w.pad_begin[dim];
    int64_t last = first + (w.kernel[dim] - 1) * w.dilation[dim] + 1;
    int64_t end = w.in[dim] + w.pad_end[dim];
    last = last < end ? last : end;
    return (last - first + w.dilation[dim] - 1) / w.dilation[dim];
}

struct pooled {
    float sum, most;
    int64_t count;
};

static __device__ __forceinline__ struct pooled pool_window(const struct kernels_window &w,
                                                            const float *x, const int64_t o[3]) {
    struct pooled pooled = {0, -INFINITY, 0};
    const struct taps taps = taps_of(w, o);
    for (int64_t kd = taps.begin[0]; kd < taps.end[0]; kd++) {
        for (int64_t kh = taps.begin[1]; kh < taps.end[1]; kh++) {
            int64_t row = pixel_of(w, 0, o[0], kd) * w.in[1] + pixel_of(w, 1, o[1], kh);
            for (int64_t kv = taps.begin[2]; kv < taps.end[2]; kv++, pooled.count++) {
                float value = x[row * w.in[2] + pixel_of(w, 2, o[2], kv)];
                pooled.most = value > pooled.most || value != value ? value : pooled.most;
                pooled.sum += value;
            }
        }
    }
    return pooled;
}

__global__ void pool_kernel(struct kernels_pool p, const float *x, float *y, int64_t count) {
    const struct kernels_window &w = p.window;
    EACH(i, count) {
        int64_t d = i / w.out[2] / w.out[1], plane = d / w.out[0];
        const int64_t o[3] = {d % w.out[0], i / w.out[2] % w.out[1], i % w.out[2]};
        const struct pooled pooled = pool_window(w, x + plane * w.in[0] * w.in[1] * w.in[2], o);
        double divisor = p.counts_pads
                             ? (double)padded_taps(w, 0, o[0]) * (double)padded_taps(w, 1, o[1]) *
                                   (double)padded_taps(w, 2, o[2])
                             : (double)pooled.count;
        y[i] = p.is_max ? pooled.most : divisor > 0 ? (float)(pooled.sum / divisor) : 0;
    }
}

int kernels_run_pool(const struct kernels_pool *p, const float *x, float *y, void *stream) {
    int64_t count = outputs_of(&p->window);
    return start(stream, blocks_for(count), pool_kernel, *p, x, y, count);
}

__global__ void finish_kernel(struct kernels_finish f, float *y) {
    EACH(i, f.n * f.c * f.pixels) {
        float value = y[i];
        value += f.bias ? f.bias[i / f.pixels % f.c] : 0;
        value += f.other ? ((const float *)f.other)[i] : 0;
        y[i] = clip(value, f.low, f.high);
    }
}

template <class T> __global__ void finish_channels_last_kernel(struct kernels_finish f, T *y) {
    EACH(i, f.n * f.pixels * f.pitch) {
        int64_t c = i % f.pitch;
        float value = get(y[i]);
        value += f.bias && c < f.c ? f.bias[c] : 0;
        value += f.other ? get(((const T *)f.other)[i]) : 0;
        put(&y[i], c < f.c ? clip(value, f.low, f.high) : 0);
    }
}

int kernels_run_finish(const struct kernels_finish *f, void *y, void *stream) {
    int64_t blocks = blocks_for(f->n * f->pixels * (f->pitch ? f->pitch : f->c));
    return f->type == KERNELS_FLOAT32 ? start(stream, blocks, finish_kernel, *f, (float *)y)
           : f->type == KERNELS_BFLOAT16
               ? start(stream, blocks, finish_channels_last_kernel<__nv_bfloat16>, *f,
                       (__nv_bfloat16 *)y)
               : start(stream, blocks, finish_channels_last_kernel<__half>, *f, (__half *)y);
}
