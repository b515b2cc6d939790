/* einsum.h: Einsum: each dimension of each operand has a label; labels that the output does not
 * have are summed over. "..." stands for the dimensions that are broadcast. Source: ONNX 12,
 * numpy. */
#pragma once

#include "agent/engine/graph/node.h"

enum { EINSUM_OPERANDS_MAX = 8, EINSUM_LABELS_MAX = 64 };

/* Labels: first those of the output in the order of its dimensions, then those that are summed
 * over. */
struct einsum {
    int label_count, output_rank;
    int64_t sizes[EINSUM_LABELS_MAX];
    /* Stride of each operand along each label, in elements: 0 if it does not have the label, the
     * sum of two strides on a diagonal. */
    int64_t strides[EINSUM_OPERANDS_MAX][EINSUM_LABELS_MAX];
};

NODISCARD int einsum_params(const struct node *node, const struct shape *const *shapes,
                            struct einsum *ret_einsum, struct error *err);
NODISCARD int infer_einsum(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
