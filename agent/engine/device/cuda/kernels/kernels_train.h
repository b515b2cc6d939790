/* kernels_train.h: kernels for training: losses, optimizer steps, elementwise gradients, dropout
 * (train.cu); gradients of pools and of convolution weights (train_window.cu); batch normalization
 * (train_norm.cu). The formulas are in agent/engine/ops/infer/internal.h and optimizer_step.h.
 * Results have the same bits in every run. */
#pragma once

#include "agent/engine/device/cuda/kernels/kernels.h"
#include "agent/engine/device/cuda/kernels/kernels_channels_last.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dx = dy * slope(v). v is the input or the output of the forward operator, whichever gives the
 * simpler formula. */
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
/* The fields are those of struct kernels_unary. */
struct kernels_slope {
    int kind;
    enum kernels_float type;
    float a, b;
    int64_t count;
    int channels, pitch;
};
int kernels_run_slope(const struct kernels_slope *slope, const void *dy, const void *v, void *dx,
                      void *stream);
/* Rounds float32 to the nearest bfloat16 and stores it as float32; y may be x. */
int kernels_run_round(const float *x, float *y, int64_t count, void *stream);
/* sizes: the tensors are [outer, axis, inner]. */
int kernels_run_softmax_gradient(int is_log, const int64_t sizes[3], const float *dy,
                                 const float *y, float *dx, void *stream);
/* x, y: [outer, samples, each]. keys: [samples], the random number of each sample; salt: differs
 * per node. */
struct kernels_dropout {
    int64_t outer, samples, each;
    uint64_t salt;
    float ratio; /* the share of elements that become 0 */
};
int kernels_run_dropout(const struct kernels_dropout *dropout, const float *x, const int64_t *keys,
                        float *y, void *stream);

enum { KERNELS_LOSS_PIECES = 64 };
/* x: [samples, classes]. Cross entropy reads labels[samples]; an invalid label makes the loss NaN.
 * Mean squared error reads target, of the shape of x. loss: one float; dx: the gradient for x;
 * correct: the number of correct samples, or NULL. partial: scratch memory, double[2 * samples] for
 * cross entropy, double[KERNELS_LOSS_PIECES] for mean squared error. */
struct kernels_loss {
    int64_t samples, classes;
    float smoothing; /* of labels */
    const float *x, *target;
    const float *scale; /* one float: the factor of loss and dx */
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
    KERNELS_OPTIMIZER_ADAM,
    KERNELS_OPTIMIZER_LAMB,
    KERNELS_OPTIMIZER_SQUARE
};
enum kernels_optimizer_number {
    KERNELS_NUMBER_RATE,
    KERNELS_NUMBER_BETA1,
    KERNELS_NUMBER_ONE_MINUS_BETA1,
    KERNELS_NUMBER_BETA2,
    KERNELS_NUMBER_ONE_MINUS_BETA2,
    KERNELS_NUMBER_BIAS_CORRECTION1,
    KERNELS_NUMBER_BIAS_CORRECTION2,
    KERNELS_NUMBER_EPSILON,
    KERNELS_NUMBER_GRADIENT,
    KERNELS_NUMBER_LIMIT
};
/* One parameter tensor of `count` weights w, with its gradient g and the states of the kind
 * (momentum, or both moments of Adam). numbers: one float per enum kernels_optimizer_number.
 * Outputs may be at the addresses of the inputs. ratio: scratch memory for LARS and LAMB, double[1
 * + 2 * KERNELS_LOSS_PIECES]; NULL if trust is 0. */
struct kernels_optimizer {
    int kind;
    int64_t count;
    float decay, decoupled_decay, factor, trust; /* struct optimizer_step */
    const float *w, *g, *numbers, *states[2];
    float *new_w, *new_states[2];
    double *ratio;
};
int kernels_run_optimizer(const struct kernels_optimizer *optimizer, void *stream);
/* norm: one float. partial: scratch memory, double[KERNELS_LOSS_PIECES]. */
int kernels_run_global_norm(const float *x, int64_t count, float *norm, double *partial,
                            void *stream);

/* ---- windows -------------------------------------------------------------------------------- */

/* x: the input of the forward pool; read only for maximum pools, else NULL. */
int kernels_run_pool_gradient(const struct kernels_pool *pool, const float *x, const float *dy,
                              float *dx, void *stream);
int kernels_run_pool_gradient_channels_last(const struct kernels_window_channels_last *pool,
                                            const void *x, const void *dy, void *dx, void *stream);
/* The gradient of a convolution's weights, for cases that cuDNN does not support. large: [n, c,
 * window.in]; small_side: [n, m, window.out]; dw: [m, c / groups, taps]. */
int kernels_run_conv_weights(const struct kernels_window *window, const float *small_side,
                             const float *large, float *dw, void *stream);

/* ---- norms of a batch ----------------------------------------------------------------------- */

/* x: plain float32, [n, c, pixels], or channels last. Forward (dy NULL): computes y, mean and
 * variance. Backward: reads dy, mean and variance, and computes dscale, dshift, and dx, which is
 * stored in y. x NULL: computes only dshift, the sums of dy per channel. */
struct kernels_batch_norm {
    struct kernels_channels_last nhwc; /* type FLOAT32: plain; pitch is not read then */
    float epsilon;
    int is_fixed; /* mean and variance are constants, not computed from x */
    const void *x, *dy;
    const float *scale, *shift;
    float *mean, *variance, *dscale, *dshift;
    void *y;
    void *scratch; /* of kernels_batch_norm_bytes bytes */
};
size_t kernels_batch_norm_bytes(const struct kernels_batch_norm *norm);
int kernels_run_batch_norm(const struct kernels_batch_norm *norm, void *stream);

#ifdef __cplusplus
}
#endif
