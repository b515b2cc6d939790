/* internal.h: operators that no model file names: what gradients and training need beyond ONNX's.
 * dy is the gradient of a forward node's output. Where a node was made for a forward one it has its
 * attributes and opset, and the attribute "of", its operator's name. Shapes are int64 lists that
 * are known before the run (Shape nodes): so one graph holds for every batch size.
 *
 *   SumTo                (x, shape) -> x summed over what broadcasting had repeated
 *   UnaryGradient        (dy, v[, low, high]) -> dx. v: the forward x, or y where that is enough
 *   ConvGradientInput    (dy, shape of x, w) -> dx, of Conv and ConvTranspose
 *   ConvGradientWeights  (dy, shape of w, x) -> dw [, dbias]
 *   PoolGradient         (dy, shape of x[, x]) -> dx; x of the maxima alone
 *   DropoutTraining      (x [n, ...], keys int64 [n]) -> y: each element is 0 by the chance
 * `ratio`, else x / (1 - ratio); by its sample's key, its place there and the attribute salt, and
 * by nothing else NormTraining         (x, scale, shift) -> y, mean, variance: of the batch, [c],
 * the variance not corrected (divided by n); attribute epsilon NormGradient         (dy, x, scale,
 * mean, variance) -> dx, dscale, dshift. of NormTraining; of BatchNormalization, whose statistics
 * are fixed; of InstanceNormalization, which has no mean and variance here LrnGradient (dy, x)
 * -> dx SoftmaxGradient      (dy, y) -> dx, of Softmax and LogSoftmax MatMulGradient       (dy, a,
 * b) -> da (attribute side 0) or db (side 1) MoveGradient         (dy, shape of x, the forward
 * node's further inputs) -> dx, of operators each of whose outputs is one element of x, or none:
 * Slice, Pad, Gather ResizeGradient       likewise, of Resize and Upsample SoftmaxCrossEntropy  (x
 * [n, classes], labels int64 [n], scale) -> loss, dx, correct: the sum over the samples, times
 * scale; how many have their greatest x (the first of equal ones) at the label. Attribute smoothing
 *   MeanSquared          (x [n, ...], target, scale) -> loss, dx: the sum over samples of the mean
 *                        square, times scale */
#pragma once

#include "agent/engine/graph.h"

/* A shape given as input 1. */
NODISCARD int internal_shape(const struct fact *const *inputs, struct shape *ret_shape,
                             struct error *err);

NODISCARD int infer_to_shape(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_sum_to(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_conv_gradient_weights(const struct node *node, const struct fact *const *inputs,
                                          struct fact *outputs, struct error *err);
NODISCARD int infer_matmul_gradient(const struct node *node, const struct fact *const *inputs,
                                    struct fact *outputs, struct error *err);
NODISCARD int infer_dropout_training(const struct node *node, const struct fact *const *inputs,
                                     struct fact *outputs, struct error *err);
NODISCARD int infer_norm_training(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_norm_gradient(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_softmax_cross_entropy(const struct node *node, const struct fact *const *inputs,
                                          struct fact *outputs, struct error *err);
NODISCARD int infer_mean_squared(const struct node *node, const struct fact *const *inputs,
                                 struct fact *outputs, struct error *err);
