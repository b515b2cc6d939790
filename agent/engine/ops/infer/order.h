/* order.h: operators along one axis, or over the last two, that depend on the positions of
 * elements: cumulative sums, greatest elements, triangles. */
#pragma once

#include "agent/engine/graph/node.h"

NODISCARD int infer_cum_sum(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_eye_like(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
/* Outputs are the values and their int64 indices; k is an attribute (opset 1) or an input. */
NODISCARD int infer_top_k(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
NODISCARD int infer_trilu(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
