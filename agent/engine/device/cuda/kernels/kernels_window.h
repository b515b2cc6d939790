/* kernels_window.h: convolutions and pools of plain float32, in one to three dimensions
 * (window.cu). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As struct window of agent/engine/ops/infer/window.h, with batch size n, input channels c and
 * output channels m. Arrays are [depth, height, width]. */
struct kernels_window {
    int64_t n, c, m, groups;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
};
/* For convolutions that cuDNN does not support: three dimensions, pads that differ by side. x: [n,
 * c, in]; w: the weights in ONNX's order; bias: [m] or NULL; y: [n, m, out]. */
int kernels_run_conv(const struct kernels_window *window, const float *x, const float *w,
                     const float *bias, float *y, void *stream);
int kernels_run_conv_transpose(const struct kernels_window *window, const float *x, const float *w,
                               const float *bias, float *y, void *stream);
struct kernels_pool {
    struct kernels_window window;
    int is_max, counts_pads; /* counts_pads: an average pool divides by pads, too */
};
int kernels_run_pool(const struct kernels_pool *pool, const float *x, float *y, void *stream);
/* In place: y = clip(y + bias[c] + other). bias and other may be NULL. y: [n, c, pixels]. */
struct kernels_finish {
    int64_t n, c, pixels;
    enum kernels_float type; /* FLOAT32: plain; else channels last */
    int pitch;               /* of channels last; plain: 0 */
    float low, high;
    const float *bias;
    const void *other;
};
int kernels_run_finish(const struct kernels_finish *finish, void *y, void *stream);

#ifdef __cplusplus
}
#endif
