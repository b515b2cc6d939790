/* norm.h: normalizations over channels. x is [n, c, ...]. */
#pragma once

#include "agent/engine/graph/node.h"

/* All further inputs have one number per channel. */
NODISCARD int infer_norm(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* All further inputs have one number per channel, too. Nodes with training_mode 1 must have been
 * expanded (expand.h). */
NODISCARD int infer_batch_norm(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
/* A BatchNormalization of known numbers as x scale + shift of each channel. numbers: the node's
 * inputs 1 to 4 (scale, shift, mean, variance). */
void norm_batch_affine(const struct node *node, const float *const numbers[static 4],
                       size_t channels, float *ret_scale, float *ret_shift);
NODISCARD int infer_lrn(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);

/* GroupNormalization: one scale and shift per group; from opset 21 on per channel. */
NODISCARD int infer_group_norm(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);

/* x as [outer, inner], normalized over inner: all dimensions from the axis on. */
struct layer_norm {
    int axis;
    int64_t outer, inner;
};
NODISCARD int layer_norm_params(const struct node *node, const struct shape *x,
                                struct layer_norm *ret_norm, struct error *err);
NODISCARD int infer_layer_norm(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
