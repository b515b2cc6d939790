/* internal.h: operators that no model file can name: those that gradients and training need and
 * ONNX does not have. dy is the gradient of a forward node's output. A node that was made for a
 * forward node has its attributes and opset, and the attribute "of" with the name of its operator.
 * Shapes are int64 lists that are known before the run (Shape nodes), so one graph is valid for
 * every batch size.
 *
 *   SumTo                (x, shape) -> x, summed over the dimensions that broadcasting repeated
 *   UnaryGradient        (dy, v[, low, high]) -> dx. v: the forward x, or y where that is enough
 *   ConvGradientInput    (dy, shape of x, w) -> dx, for Conv and ConvTranspose
 *   ConvGradientWeights  (dy, shape of w, x) -> dw[, dbias]
 *   PoolGradient         (dy, shape of x[, x]) -> dx; x only for maximum pools
 *   DropoutTraining      (x, keys int64 [n]) -> y: each element is 0 with probability `ratio`, else
 *                        x / (1 - ratio). It depends only on its sample's key, its place in the
 *                        sample (attribute each, internal_dropout) and the attribute salt
 *   NormTraining         (x, scale, shift) -> y, mean, variance: of the batch, [c], the variance
 *                        not corrected (divided by n); attribute epsilon
 *   NormGradient         (dy, x, scale, mean, variance) -> dx, dscale, dshift, for NormTraining;
 *                        for BatchNormalization, where the statistics are constants; and for
 *                        InstanceNormalization, without the inputs mean and variance
 *   LrnGradient          (dy, x) -> dx
 *   GridSampleGradient   (dy, x, grid) -> dx (attribute side 0) or that of the grid (side 1)
 *   SoftmaxGradient      (dy, y) -> dx, for Softmax and LogSoftmax
 *   MatMulGradient       (dy, a, b) -> da (attribute side 0) or db (side 1)
 *   MoveGradient         (dy, shape of x, the forward node's further inputs) -> dx, for operators
 *                        where each output element is one element of x or none: Slice, Pad, Gather
 *   ResizeGradient       as MoveGradient, for Resize and Upsample
 *   RankSum              (x) -> y, the sum of x over all ranks. The kernel copies; who runs the
 *                        graph adds the other ranks' numbers when the step has ended
 *                        (training_hook)
 *   RecurrentGradient    (the forward node's eight inputs, gradients of its three outputs) -> those
 *                        of X, W, R, B and of the initial states and peepholes, for LSTM, GRU and
 *                        RNN; 0, a number, where the input is absent (recurrent.h)
 *   SoftmaxCrossEntropy  (x, labels int64 [n, places...], scale) -> loss, dx, correct: the loss is
 *                        the sum over the places, times scale; correct is the number of places
 *                        whose greatest x (the first of equal ones) is at the label. x: struct
 *                        label_places. Attributes smoothing; ignored, if places with this label do
 *                        not count; weights: one for each class, by which a place counts
 *   CtcLoss              (x [n, steps, classes], labels int64 [n, labels], scale) -> loss, dx,
 *                        correct: the sum over the samples of ctc_loss, times scale;
 *                        correct is the number of samples whose best classes make the labels.
 *                        Attributes blank; ignored: the label that fills short rows
 *   MeanSquared          (x [n, ...], target, scale) -> loss, dx: the sum over samples of the mean
 *                        square, times scale */
#pragma once

#include "agent/engine/graph/node.h"

/* Reads the shape that is input 1. */
NODISCARD int internal_shape(const struct fact *const *inputs, struct shape *ret_shape,
                             struct error *err);

/* Which elements of x belong to a sample of n: x is [outer, samples, each]. The node's attribute
 * `each` says it (training_place_samples); if that is 0, x does not depend on the samples, and
 * belongs to the first one. */
struct dropout_samples {
    int64_t outer, samples, each;
};
void internal_dropout(const struct node *node, const struct shape *x, int64_t n,
                      struct dropout_samples *ret_samples);

NODISCARD int infer_to_shape(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_sum_to(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_conv_gradient_weights(const struct node *node, const struct fact *const *inputs,
                                          struct fact *outputs, struct error *err);
NODISCARD int infer_side_gradient(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_dropout_training(const struct node *node, const struct fact *const *inputs,
                                     struct fact *outputs, struct error *err);
NODISCARD int infer_norm_training(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_norm_gradient(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
NODISCARD int infer_softmax_cross_entropy(const struct node *node, const struct fact *const *inputs,
                                          struct fact *outputs, struct error *err);
NODISCARD int infer_ctc_loss(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
NODISCARD int infer_mean_squared(const struct node *node, const struct fact *const *inputs,
                                 struct fact *outputs, struct error *err);
