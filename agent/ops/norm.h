/* norm.h: normalizations over channels. x is [n, c, ...]. */
#pragma once

#include "agent/graph/graph.h"

/* All further inputs hold one number per channel. */
NODISCARD int infer_norm(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_lrn(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);
