// SPDX-License-Identifier: Apache-2.0
/* Windows over plain float32. The convolutions here are for what cuDNN has no kernel for: one
 * thread an output, no reuse. */
#include "agent/engine/device/cuda/kernels/kernel.cuh"

__global__ void conv_kernel(struct kernels_window w, const float *x, const float *weights,
                            const float *bias, float *y, int64_t count) {
    int64_t per_group = w.c / w.groups, outputs = w.m / w.groups;
    EACH(i, count) {
        int64_t v = i % w.out[2], h = i / w.out[2] % w.out[1], d = i / w.out[2] / w.out[1];
        int64_t m = d / w.out[0] % w.m, n = d / w.out[0] / w.m;
        d %= w.out[0];
        float sum = bias ? bias[m] : 0;
        const float *tap = weights + m * per_group * w.kernel[0] * w.kernel[1] * w.kernel[2];
        for (int64_t c = m / outputs * per_group; c < (m / outputs + 1) * per_group; c++) {
            for (int64_t kd = 0; kd < w.kernel[0]; kd++) {
                for (int64_t kh = 0; kh < w.kernel[1]; kh++) {
                    for (int64_t kv = 0; kv < w.kernel[2]; kv++, tap++) {
                        int64_t at_d = d * w.stride[0] + kd * w.dilation[0] - w.pad_begin[0];
                        int64_t at_h = h * w.stride[1] + kh * w.dilation[1] - w.pad_begin[1];
                        int64_t at_v = v * w.stride[2] + kv * w.dilation[2] - w.pad_begin[2];
                        if (at_d >= 0 && at_d < w.in[0] && at_h >= 0 && at_h < w.in[1] &&
                            at_v >= 0 && at_v < w.in[2]) {
                            int64_t plane = (n * w.c + c) * w.in[0] + at_d;
                            sum += *tap * x[(plane * w.in[1] + at_h) * w.in[2] + at_v];
                        }
                    }
                }
            }
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

/* The input index that tap k spreads to output o, or -1. */
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

/* Cells of a window that lie in the padded input: what count_include_pad divides by. */
static __device__ int64_t cells_of(const struct kernels_window &w, int dim, int64_t o) {
    int64_t first = o * w.stride[dim] - w.pad_begin[dim];
    int64_t last = first + (w.kernel[dim] - 1) * w.dilation[dim] + 1;
    int64_t end = w.in[dim] + w.pad_end[dim];
    last = last < end ? last : end;
    return (last - first + w.dilation[dim] - 1) / w.dilation[dim];
}

/* The taps k of a window of output o with begin <= k < end lie in the input. */
static __device__ void taps_of(const struct kernels_window &w, int dim, int64_t o, int64_t *begin,
                               int64_t *end) {
    int64_t first = o * w.stride[dim] - w.pad_begin[dim], dilation = w.dilation[dim];
    *begin = first < 0 ? (-first + dilation - 1) / dilation : 0;
    int64_t last = first < w.in[dim] ? (w.in[dim] - 1 - first) / dilation + 1 : 0;
    *end = last < w.kernel[dim] ? last : w.kernel[dim];
}

__global__ void pool_kernel(struct kernels_window w, int is_max, int counts_pads, const float *x,
                            float *y, int64_t count) {
    EACH(i, count) {
        int64_t v = i % w.out[2], h = i / w.out[2] % w.out[1], d = i / w.out[2] / w.out[1];
        int64_t plane = d / w.out[0];
        d %= w.out[0];
        int64_t begin[3], end[3];
        taps_of(w, 0, d, &begin[0], &end[0]);
        taps_of(w, 1, h, &begin[1], &end[1]);
        taps_of(w, 2, v, &begin[2], &end[2]);
        float sum = 0, most = -INFINITY;
        int64_t seen = 0;
        for (int64_t kd = begin[0]; kd < end[0]; kd++) {
            for (int64_t kh = begin[1]; kh < end[1]; kh++) {
                for (int64_t kv = begin[2]; kv < end[2]; kv++, seen++) {
                    int64_t at_d = d * w.stride[0] + kd * w.dilation[0] - w.pad_begin[0];
                    int64_t at_h = h * w.stride[1] + kh * w.dilation[1] - w.pad_begin[1];
                    int64_t at_v = v * w.stride[2] + kv * w.dilation[2] - w.pad_begin[2];
                    float value = x[((plane * w.in[0] + at_d) * w.in[1] + at_h) * w.in[2] + at_v];
                    most = value > most || value != value ? value : most;
                    sum += value;
                }
            }
        }
        double cells = counts_pads ? (double)cells_of(w, 0, d) * (double)cells_of(w, 1, h) *
                                         (double)cells_of(w, 2, v)
                                   : (double)seen;
        y[i] = is_max ? most : cells > 0 ? (float)(sum / cells) : 0;
    }
}

int kernels_run_pool(const struct kernels_window *w, int is_max, int counts_pads, const float *x,
                     float *y, void *stream) {
    return start(stream, blocks_for(outputs_of(w)), pool_kernel, *w, is_max, counts_pads, x, y,
                 outputs_of(w));
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
