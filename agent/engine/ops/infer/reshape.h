/* reshape.h: operators that give the same elements another shape, and operators on shapes. */
#pragma once

#include "agent/engine/graph/node.h"

NODISCARD int infer_reshape(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_flatten(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_squeeze(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_unsqueeze(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* For the internal operator Align (b, a): appends ones to b's shape, so that its first dimension is
 * at a's `axis`. */
NODISCARD int infer_align(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
NODISCARD int infer_dropout(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_shape(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
NODISCARD int infer_size(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_constant_of_shape(const struct node *node, const struct fact *const *inputs,
                                      struct fact *outputs, struct error *err);
NODISCARD int infer_range(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);

/* The dimensions start..end - 1 that Shape returns (all before opset 15). */
void reshape_shape_range(const struct node *node, int rank, int *ret_start, int *ret_end);
