/* matmul.h: matrix products. */
#pragma once

#include "agent/engine/graph/node.h"

/* MatMul as in numpy: a[m, k] b[k, n] for each batch; `shape` has the output's batch dimensions,
 * batch_rank of them. Strides are in matrices, 0 where a matrix is repeated. */
struct matmul {
    int64_t m, k, n;
    struct shape batch;
    int64_t a_strides[TENSOR_RANK_MAX], b_strides[TENSOR_RANK_MAX];
    struct shape output;
};
NODISCARD int matmul_params(const struct shape *a, const struct shape *b, struct matmul *ret_matmul,
                            struct error *err);
NODISCARD int infer_matmul(const struct node *node, const struct fact *const *inputs,
                           struct fact *outputs, struct error *err);
NODISCARD int infer_det(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);
NODISCARD int infer_gemm(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
