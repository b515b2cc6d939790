/* reshape.h: operators that give the same elements another shape, and those that talk about shapes.
 */
#pragma once

#include "agent/engine/graph.h"

NODISCARD int infer_reshape(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_flatten(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_squeeze(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_unsqueeze(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* Internal: Align (b, a): b with ones behind it, so that its first dimension is a's `axis`. */
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

/* The dimensions start..end - 1 that Shape tells (all before opset 15). */
void shape_part(const struct node *node, int rank, int *ret_start, int *ret_end);
