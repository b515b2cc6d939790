/* kernels_window.h: windows over plain float32, of one to three dimensions (window.cu). */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kernels_window {
    int64_t n, c, m, groups;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad_begin[3], pad_end[3];
};
/* What cuDNN does not take: three dimensions, pads that differ by side. w as ONNX has it. */
int kernels_run_conv(const struct kernels_window *window, const float *x, const float *w,
                     const float *bias, float *y, void *stream);
int kernels_run_conv_transpose(const struct kernels_window *window, const float *x, const float *w,
                               const float *bias, float *y, void *stream);
int kernels_run_pool(const struct kernels_window *window, int is_max, int counts_pads,
                     const float *x, float *y, void *stream);
/* In place: y = clip(y + bias[c] + other); bias, other may be NULL. y is [n, c, pixels]. */
struct kernels_finish {
    int64_t n, c, pixels;
    enum kernels_float type; /* not FLOAT32: last, with pitch */
    int pitch;
    float low, high;
    const float *bias;
    const void *other;
};
int kernels_run_finish(const struct kernels_finish *finish, void *y, void *stream);

#ifdef __cplusplus
}
#endif
