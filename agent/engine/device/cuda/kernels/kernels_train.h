/* kernels_train.h: what a training wants beyond its network: losses, the optimizer, gradients
 * element by element (train.cu), of pools and of weights (train_window.cu), norms of a batch
 * (train_norm.cu). Formulas: agent/engine/ops/infer/internal.h, optimizer_step.h; results have the
 * same bits in every run. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dx = dy * slope(v), where v is the forward x, or its y. */
enum kernels_slope_kind {
    KERNELS_SLOPE_ABS,
    KERNELS_SLOPE_CLIP,
    KERNELS_SLOPE_ELU,
    KERNELS_SLOPE_ERF,
    KERNELS_SLOPE_EXP,
    KERNELS_SLOPE_HARD_SIGMOID,
    KERNELS_SLOPE_HARD_SWISH,
    KERNELS_SLOPE_LEAKY_RELU,
    KERNELS_SLOPE_LOG,
    KERNELS_SLOPE_RECIPROCAL,
    KERNELS_SLOPE_RELU,
    KERNELS_SLOPE_SELU,
    KERNELS_SLOPE_SIGMOID,
    KERNELS_SLOPE_SOFTPLUS,
    KERNELS_SLOPE_SOFTSIGN,
    KERNELS_SLOPE_SQRT,
    KERNELS_SLOPE_TANH,
};
/* Fields as kernels_unary's. */
struct kernels_slope {
    int kind;
    enum kernels_float type;
    float a, b;
    int64_t count;
    int channels, pitch;
};
int kernels_run_slope(const struct kernels_slope *slope, const void *dy, const void *v, void *dx,
                      void *stream);
/* float32 whose lower half is rounded away; y may be x. */
int kernels_run_round(const float *x, float *y, int64_t count, void *stream);
/* [outer, axis, inner] */
int kernels_run_softmax_gradient(int is_log, const int64_t sizes[3], const float *dy,
                                 const float *y, float *dx, void *stream);
struct kernels_dropout {
    int64_t samples, each;
    uint64_t salt;
    float ratio;
};
int kernels_run_dropout(const struct kernels_dropout *dropout, const float *x, const int64_t *keys,
                        float *y, void *stream);

enum { KERNELS_LOSS_PIECES = 64 };
/* x [samples, classes] with labels, or [samples, each] with targets. A label that is no class makes
 * the loss no number. partial: double[2 * samples], or [KERNELS_LOSS_PIECES]. */
struct kernels_loss {
    int64_t samples, classes;
    float smoothing;
    const float *x, *target, *scale;
    const int64_t *labels;
    float *loss, *dx, *correct;
    double *partial;
};
int kernels_run_cross_entropy(const struct kernels_loss *loss, void *stream);
int kernels_run_mean_squared(const struct kernels_loss *loss, void *stream);

enum kernels_optimizer_kind {
    KERNELS_OPTIMIZER_PLAIN,
    KERNELS_OPTIMIZER_MOMENTUM,
    KERNELS_OPTIMIZER_NESTEROV,
    KERNELS_OPTIMIZER_ADAM
};
enum kernels_optimizer_number {
    KERNELS_NUMBER_RATE,
    KERNELS_NUMBER_FIRST,
    KERNELS_NUMBER_REST_FIRST,
    KERNELS_NUMBER_SECOND,
    KERNELS_NUMBER_REST_SECOND,
    KERNELS_NUMBER_UNBIAS,
    KERNELS_NUMBER_EPSILON
};
/* Outputs may lie where inputs do. ratio: float, then double[2 * KERNELS_LOSS_PIECES]: of LARS,
 * else NULL. */
struct kernels_optimizer {
    int kind;
    int64_t count;
    float decay, trust;
    const float *w, *g, *numbers, *states[2];
    float *new_w, *new_states[2];
    double *ratio;
};
int kernels_run_optimizer(const struct kernels_optimizer *optimizer, void *stream);

/* ---- windows -------------------------------------------------------------------------------- */

/* x is read by maxima alone. */
int kernels_run_pool_gradient(const struct kernels_window *window, int is_max, int counts_pads,
                              const float *x, const float *dy, float *dx, void *stream);
int kernels_run_pool_gradient_channels_last(const struct kernels_window_channels_last *pool,
                                            const void *x, const void *dy, void *dx, void *stream);
/* Of a convolution's weights, where cuDNN does not: the window's in is the large picture [n, c,
 * ...], out the small one [n, m, ...]; dw is [m, c / groups, taps]. */
int kernels_run_conv_weights(const struct kernels_window *window, const float *small_side,
                             const float *large, float *dw, void *stream);

/* ---- norms of a batch ----------------------------------------------------------------------- */

/* x is [n, c, pixels] of float32, or channels last. Forwards (dy NULL) y, mean and variance are
 * made; backwards y is dx and mean, variance are read. Without x: dshift alone, the sums of dy by
 * channels. */
struct kernels_batch_norm {
    struct kernels_channels_last nhwc; /* type FLOAT32: plain, and pitch is not read */
    float epsilon;
    int is_fixed; /* the statistics do not depend on x */
    const void *x, *dy;
    const float *scale, *shift;
    float *mean, *variance, *dscale, *dshift;
    void *y;
    void *scratch; /* of kernels_batch_norm_bytes */
};
size_t kernels_batch_norm_bytes(const struct kernels_batch_norm *norm);
int kernels_run_batch_norm(const struct kernels_batch_norm *norm, void *stream);

#ifdef __cplusplus
}
#endif
