/* einsum.h: Einsum: a label for each dimension of each operand; what the output's labels do not
 * name is summed over. "..." stands for the dimensions that are broadcast. Source: ONNX 12, numpy.
 */
#pragma once

#include "agent/engine/graph.h"

enum { EINSUM_OPERANDS_MAX = 8, EINSUM_LABELS_MAX = 64 };

/* Labels in the order of the output's dimensions, those that are summed over behind them. */
struct einsum {
    int label_count, output_rank;
    int64_t sizes[EINSUM_LABELS_MAX];
    /* Elements by which each operand moves with each label: 0 where it does not have it, the sum of
     * two strides on a diagonal. */
    int64_t strides[EINSUM_OPERANDS_MAX][EINSUM_LABELS_MAX];
};

NODISCARD int einsum_params(const struct node *node, const struct shape *const *shapes,
                            struct einsum *ret_einsum, struct error *err);
NODISCARD int infer_einsum(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
