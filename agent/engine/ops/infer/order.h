/* order.h: operators along one axis, or over the last two, that look at where an element stands:
 * sums so far, the greatest, triangles. */
#pragma once

#include "agent/engine/graph.h"

NODISCARD int infer_cum_sum(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_eye_like(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err);
/* Values and their int64 indices; k is an attribute (opset 1) or an input. */
NODISCARD int infer_top_k(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
NODISCARD int infer_trilu(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
