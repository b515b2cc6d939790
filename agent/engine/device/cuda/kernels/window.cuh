/* window.cuh: indices of sliding windows, shared by pools, convolutions and their gradients.
 * Dimension dim is 0 (depth), 1 (height) or 2 (width). A tap is one element of the kernel. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernel.cuh"

/* The input index under tap k of output o; it may be outside the input. */
static __device__ __forceinline__ int64_t pixel_of(const struct kernels_window &w, int dim,
                                                   int64_t o, int64_t k) {
    return o * w.stride[dim] + k * w.dilation[dim] - w.pad_begin[dim];
}

/* The taps of an output's window that are inside the input: begin <= k < end in each dimension. */
struct taps {
    int64_t begin[3], end[3];
};
static __device__ __forceinline__ struct taps taps_of(const struct kernels_window &w,
                                                      const int64_t o[3]) {
    struct taps taps;
    for (int dim = 0; dim < 3; dim++) {
        int64_t first = pixel_of(w, dim, o[dim], 0), dilation = w.dilation[dim];
        int64_t last = first < w.in[dim] ? (w.in[dim] - 1 - first) / dilation + 1 : 0;
        taps.begin[dim] = first < 0 ? (-first + dilation - 1) / dilation : 0;
        taps.end[dim] = last < w.kernel[dim] ? last : w.kernel[dim];
    }
    return taps;
}

/* Output i of a channels-last window: sample, row, column, and group of KERNELS_LANES channels. */
struct output_at {
    int64_t n, h, v, group;
};
static __device__ __forceinline__ struct output_at output_of(const struct kernels_window &w,
                                                             int groups, int64_t i) {
    int64_t row = i / groups / w.out[2];
    return {row / w.out[1], row % w.out[1], i / groups % w.out[2], i % groups};
}

/* Calls visit(lanes, tap, pixel) for each tap of an output's window that is inside the activation.
 * tap: its index in the kernel; pixel: its index in the activation. */
template <class T, class Visit>
static __device__ __forceinline__ void each_tap(const struct kernels_window_channels_last &p,
                                                const T *x, const struct output_at &o,
                                                Visit &visit) {
    const struct kernels_window &w = p.window;
    int groups = p.pitch / KERNELS_LANES;
    const struct lanes<T> *activation =
        (const struct lanes<T> *)x + o.n * w.in[1] * w.in[2] * groups + o.group;
    for (int64_t kh = 0; kh < w.kernel[1]; kh++) {
        int64_t h = pixel_of(w, 1, o.h, kh);
        for (int64_t kv = 0; kv < w.kernel[2] && h >= 0 && h < w.in[1]; kv++) {
            int64_t v = pixel_of(w, 2, o.v, kv), pixel = h * w.in[2] + v;
            if (v >= 0 && v < w.in[2]) {
                visit(activation[pixel * groups], kh * w.kernel[2] + kv, pixel);
            }
        }
    }
}
