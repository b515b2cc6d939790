/* kernels_channels_last.h: pictures that are channels last, two bytes an element
 * (channels_last.cu). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"
#include "agent/engine/device/cuda/kernels/kernels_move.h"
#include "agent/engine/device/cuda/kernels/kernels_window.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernels_channels_last {
    enum kernels_float type;
    int64_t n, pixels;
    int channels, pitch;
};
int kernels_run_to_channels_last(const struct kernels_channels_last *nhwc, const float *x, void *y,
                                 void *stream);
int kernels_run_from_channels_last(const struct kernels_channels_last *nhwc, const void *x,
                                   float *y, void *stream);
enum { KERNELS_NORM_CHUNK = 1024 }; /* pixels whose sums one block makes */
/* Statistics in one pass. partial: float[n, chunks, pitch, 2]; factors: float[n, pitch, 2], so that
 * the normalized value is x * factors[0] + factors[1]. gamma, beta: float[channels]. */
struct kernels_moments {
    struct kernels_channels_last nhwc;
    float epsilon;
    const void *x;
    const float *gamma, *beta;
    float *partial, *factors;
};
int kernels_run_moments(const struct kernels_moments *moments, void *stream);
/* y[n, out_h, out_w] = clip(x * factors) at the pixel that padding and doubling take it from, plus
 * `other` (of y's shape). factors, other may be NULL. */
struct kernels_apply {
    enum kernels_float type;
    enum kernels_edge edge; /* CONSTANT: zero */
    int64_t n, h, w, out_h, out_w, top, left;
    int channels, pitch, repeat; /* every pixel repeat x repeat times, before padding */
    float low, high;
    const void *x, *other;
    const float *factors;
    void *y;
};
int kernels_run_apply(const struct kernels_apply *apply, void *stream);
/* Windows in two dimensions (the last two of the window's three). */
struct kernels_window_channels_last {
    struct kernels_window window;
    enum kernels_float type;
    int pitch, is_max, counts_pads;
    float low, high;
};
int kernels_run_pool_channels_last(const struct kernels_window_channels_last *pool, const void *x,
                                   void *y, void *stream);
/* One filter a channel; w is float[kernel h, kernel w, pitch], bias float[pitch] or NULL. */
int kernels_run_depthwise(const struct kernels_window_channels_last *conv, const void *x,
                          const float *w, const float *bias, void *y, void *stream);
/* One number a channel: of all pixels. */
int kernels_run_global_pool_channels_last(const struct kernels_channels_last *nhwc, int is_max,
                                          const void *x, void *y, void *stream);
/* Channels of x to those of y from `first` on; the last piece (is_end) clears y's padding. */
struct kernels_piece {
    enum kernels_float type;
    int64_t pixels; /* of all pictures */
    int channels, x_pitch, y_pitch, first, is_end;
};
int kernels_run_piece(const struct kernels_piece *piece, const void *x, void *y, void *stream);

#ifdef __cplusplus
}
#endif
