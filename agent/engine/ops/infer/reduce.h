/* reduce.h: operators that reduce or normalize along axes. */
#pragma once

#include "agent/engine/graph/node.h"

struct reduce {
    bool is_reduced[TENSOR_RANK_MAX];
    bool keeps;       /* reduced dimensions stay, with size 1 */
    bool is_identity; /* no axes are given, and that means that nothing is reduced */
};
NODISCARD int reduce_params(const struct node *node, const struct fact *const *inputs,
                            struct reduce *ret_reduce, struct error *err);
NODISCARD int infer_reduce(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_arg_max(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);

/* Softmax and LogSoftmax: x is [outer, axis, inner]. Up to opset 12 all dimensions from the axis on
 * count as one (inner = 1). */
struct softmax {
    int64_t outer, axis, inner;
};
NODISCARD int softmax_params(const struct node *node, const struct shape *x,
                             struct softmax *ret_softmax, struct error *err);
/* The element at which row i of outer * inner begins; its elements are `inner` apart. */
static inline int64_t reduce_softmax_start(const struct softmax *softmax, int64_t i) {
    return i / softmax->inner * softmax->axis * softmax->inner + i % softmax->inner;
}
NODISCARD int infer_softmax(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
