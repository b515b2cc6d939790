/* kernels_channels_last.h: activations that are channels last, in a 16-bit type (channels_last.cu).
 */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sizes of a channels-last value. */
struct kernels_channels_last {
    enum kernels_float type;
    int64_t n, pixels;
    int channels, pitch;
};
/* From and to plain float32, [n, channels, pixels]. */
int kernels_run_to_channels_last(const struct kernels_channels_last *nhwc, const float *x, void *y,
                                 void *stream);
int kernels_run_from_channels_last(const struct kernels_channels_last *nhwc, const void *x,
                                   float *y, void *stream);
enum { KERNELS_NORM_CHUNK = 1024 }; /* pixels that one block sums */
/* Statistics of an instance normalization. gamma, beta: float[channels]. partial: scratch memory,
 * float[n, chunks, pitch, 2], where chunks is pixels / KERNELS_NORM_CHUNK rounded up. factors: the
 * result, float[n, pitch, 2]: the normalized value is x * factors[0] + factors[1]. */
struct kernels_moments {
    struct kernels_channels_last nhwc;
    float epsilon;
    const void *x;
    const float *gamma, *beta;
    float *partial, *factors;
};
int kernels_run_moments(const struct kernels_moments *moments, void *stream);
/* In one pass: normalizes x, [n, h, w], with the factors above; clamps; repeats pixels; pads; adds
 * `other`, which has y's shape [n, out_h, out_w]. factors and other may be NULL. */
struct kernels_apply {
    enum kernels_float type;
    enum kernels_edge edge; /* of the padding; CONSTANT: zeros */
    int64_t n, h, w, out_h, out_w, top, left;
    int channels, pitch;
    int repeat; /* each pixel becomes repeat x repeat pixels, before padding */
    float low, high;
    const void *x, *other;
    const float *factors;
    void *y;
};
int kernels_run_apply(const struct kernels_apply *apply, void *stream);
/* Windows over two dimensions, the last two of the window's three. */
struct kernels_window_channels_last {
    struct kernels_window window;
    enum kernels_float type;
    int pitch, is_max, counts_pads; /* of kernels_pool; not read by depthwise convolutions */
    float low, high;                /* the result is clamped to these */
};
int kernels_run_pool_channels_last(const struct kernels_window_channels_last *pool, const void *x,
                                   void *y, void *stream);
/* A depthwise convolution. w: float[kernel h, kernel w, pitch]; bias: float[pitch] or NULL. */
int kernels_run_depthwise(const struct kernels_window_channels_last *conv, const void *x,
                          const float *w, const float *bias, void *y, void *stream);
/* The maximum or average of all pixels, per channel: y is [n, pitch]. */
int kernels_run_global_pool_channels_last(const struct kernels_channels_last *nhwc, int is_max,
                                          const void *x, void *y, void *stream);
/* Copies the channels of x to the channels of y from `first` on: a piece of a Concat. is_end: the
 * last piece, which also zeros the elements between y's channels and y_pitch. */
struct kernels_piece {
    enum kernels_float type;
    int64_t pixels; /* of the whole batch */
    int channels, x_pitch, y_pitch, first, is_end;
};
int kernels_run_piece(const struct kernels_piece *piece, const void *x, void *y, void *stream);

#ifdef __cplusplus
}
#endif
