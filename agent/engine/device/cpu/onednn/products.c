// SPDX-License-Identifier: Apache-2.0
// Products of two matrices that are computed during the run; fast/ takes products with a constant.
#include "agent/engine/device/cpu/onednn/request.h"
#include "agent/engine/ops/infer/matmul.h"

/* A batch dimension in which a matrix is repeated has size 1; oneDNN broadcasts it. */
static void batch_dims(const struct matmul *matmul, const int64_t *strides, int64_t *dims) {
    for (int i = 0; i < matmul->batch.rank; i++) {
        dims[i] = strides[i] ? matmul->batch.dims[i] : 1;
    }
}

bool request_matmul(const struct schedule *schedule, const struct step *step,
                    struct request *ret_request) {
    struct error err = {0};
    struct matmul matmul;
    int64_t a[TENSOR_RANK_MAX + 2], b[TENSOR_RANK_MAX + 2], y[TENSOR_RANK_MAX + 2];
    if (matmul_params(&schedule->slots[step->inputs[0]].shape,
                      &schedule->slots[step->inputs[1]].shape, &matmul, &err) < 0) {
        return false;
    }
    int rank = matmul.batch.rank + 2;
    batch_dims(&matmul, matmul.a_strides, a);
    batch_dims(&matmul, matmul.b_strides, b);
    for (int i = 0; i < matmul.batch.rank; i++) {
        y[i] = matmul.batch.dims[i];
    }
    a[rank - 2] = y[rank - 2] = matmul.m;
    a[rank - 1] = b[rank - 2] = matmul.k;
    b[rank - 1] = y[rank - 1] = matmul.n;
    request_begin(ret_request);
    return dnnl.matmul_desc_init(&ret_request->description.matmul,
                                 request_add(ret_request, DNNL_ARG_SRC, 0, rank, a, NULL),
                                 request_add(ret_request, DNNL_ARG_WEIGHTS, 1, rank, b, NULL), NULL,
                                 request_add(ret_request, DNNL_ARG_DST, REQUEST_OUTPUT, rank, y,
                                             NULL)) == dnnl_success;
}

static const dnnl_memory_desc_t *add_matrix(struct request *request, int name, int input,
                                            const struct shape *shape, bool turned) {
    int64_t dims[2] = {shape->dims[turned], shape->dims[!turned]};
    int64_t strides[2] = {turned ? 1 : shape->dims[1], turned ? shape->dims[1] : 1};
    return request_add(request, name, input, 2, dims, strides);
}

/* alpha A B + beta C, only if alpha and beta are 1 and C is one row, which oneDNN calls bias. */
bool request_gemm(const struct schedule *schedule, const struct step *step,
                  struct request *ret_request) {
    const struct shape *a = &schedule->slots[step->inputs[0]].shape;
    const struct shape *b = &schedule->slots[step->inputs[1]].shape;
    const struct shape *y = &schedule->slots[step->outputs[0]].shape;
    bool a_turned = node_integer(step->node, "transA", 0);
    bool b_turned = node_integer(step->node, "transB", 0);
    const dnnl_memory_desc_t *bias = NULL;
    request_begin(ret_request);
    if (node_number(step->node, "alpha", 1) != 1) {
        return false;
    }
    if (step->input_count > 2 && step->inputs[2] >= 0) {
        const struct shape *c = &schedule->slots[step->inputs[2]].shape;
        int64_t n = y->dims[1], dims[2] = {1, n};
        if (node_number(step->node, "beta", 1) != 1 || shape_count(c) != n || c->rank < 1 ||
            c->dims[c->rank - 1] != n) {
            return false;
        }
        bias = request_add(ret_request, DNNL_ARG_BIAS, 2, 2, dims, NULL);
    }
    return dnnl.matmul_desc_init(&ret_request->description.matmul,
                                 add_matrix(ret_request, DNNL_ARG_SRC, 0, a, a_turned),
                                 add_matrix(ret_request, DNNL_ARG_WEIGHTS, 1, b, b_turned), bias,
                                 add_matrix(ret_request, DNNL_ARG_DST, REQUEST_OUTPUT, y, false)) ==
           dnnl_success;
}
