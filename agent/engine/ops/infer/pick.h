/* pick.h: operators that read or write elements at indices that another input gives. Indices are
 * int32 or int64; negative ones count from the end. An index out of range ends the run with
 * ERROR_INVALID, except in OneHot, where all elements then have the off value. */
#pragma once

#include "agent/engine/graph/node.h"

NODISCARD int infer_gather_elements(const struct node *node, const struct fact *const *inputs,
                                    struct fact *outputs, struct error *err);
NODISCARD int infer_gather_nd(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* ScatterElements, and Scatter, its older name. */
NODISCARD int infer_scatter_elements(const struct node *node, const struct fact *const *inputs,
                                     struct fact *outputs, struct error *err);
NODISCARD int infer_scatter_nd(const struct node *node, const struct fact *const *inputs,
                               struct fact *outputs, struct error *err);
NODISCARD int infer_one_hot(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_reverse_sequence(const struct node *node, const struct fact *const *inputs,
                                     struct fact *outputs, struct error *err);
