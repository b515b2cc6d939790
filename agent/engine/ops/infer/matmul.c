// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/matmul.h"

#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/params.h"

int matmul_params(const struct shape *a, const struct shape *b, struct matmul *ret_matmul,
                  struct error *err) {
    struct matmul matmul = {0};
    if (a->rank < 1 || b->rank < 1) {
        return error_set(err, ERROR_INVALID, "a scalar is not a matrix");
    }
    /* A vector is a row on the left, a column on the right; that dimension is then removed from the
     * output. */
    bool a_is_row = a->rank == 1, b_is_column = b->rank == 1;
    matmul.m = a_is_row ? 1 : a->dims[a->rank - 2];
    matmul.k = a->dims[a->rank - 1];
    matmul.n = b_is_column ? 1 : b->dims[b->rank - 1];
    if (matmul.k != b->dims[b_is_column ? 0 : b->rank - 2]) {
        char a_text[128], b_text[128];
        shape_format(a, a_text);
        shape_format(b, b_text);
        return error_set(err, ERROR_INVALID, "matrix shapes %s and %s are incompatible", a_text,
                         b_text);
    }
    struct shape a_batch = *a, b_batch = *b;
    a_batch.rank = MAX(a->rank - 2, 0);
    b_batch.rank = MAX(b->rank - 2, 0);
    matmul.batch = a_batch;
    if (elementwise_broadcast(&matmul.batch, &b_batch, err) < 0) {
        return -1;
    }
    elementwise_broadcast_strides(&a_batch, &matmul.batch, matmul.a_strides);
    elementwise_broadcast_strides(&b_batch, &matmul.batch, matmul.b_strides);
    matmul.output = matmul.batch;
    if (!a_is_row) {
        matmul.output.dims[matmul.output.rank++] = matmul.m;
    }
    if (!b_is_column) {
        matmul.output.dims[matmul.output.rank++] = matmul.n;
    }
    *ret_matmul = matmul;
    return 0;
}

int infer_matmul(const struct node *node UNUSED, const struct fact *const *inputs,
                 struct fact *outputs, struct error *err) {
    struct matmul matmul;
    if (matmul_params(&inputs[0]->shape, &inputs[1]->shape, &matmul, err) < 0) {
        return -1;
    }
    outputs[0].shape = matmul.output;
    return 0;
}

int infer_gemm(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
               struct error *err) {
    if (param_rank(inputs[0], 0, 2, 2, err) < 0 || param_rank(inputs[1], 1, 2, 2, err) < 0) {
        return -1;
    }
    int a = node_integer(node, "transA", 0) != 0, b = node_integer(node, "transB", 0) != 0;
    struct shape output = {2, {inputs[0]->shape.dims[a], inputs[1]->shape.dims[!b]}};
    if (inputs[0]->shape.dims[!a] != inputs[1]->shape.dims[b]) {
        return error_set(err, ERROR_INVALID, "matrices with %lld columns and %lld rows",
                         (long long)inputs[0]->shape.dims[!a], (long long)inputs[1]->shape.dims[b]);
    }
    const struct fact *c = param_input(node, inputs, 2);
    outputs[0].shape = output;
    if (c && (elementwise_broadcast(&output, &c->shape, err) < 0 ||
              !shape_equal(&output, &outputs[0].shape))) {
        return error_set(err, ERROR_INVALID, "input 2 does not broadcast to the product");
    }
    return 0;
}

int infer_det(const struct node *node UNUSED, const struct fact *const *inputs,
              struct fact *outputs, struct error *err) {
    const struct shape *x = &inputs[0]->shape;
    if (param_rank(inputs[0], 0, 2, TENSOR_RANK_MAX, err) < 0) {
        return -1;
    }
    if (x->dims[x->rank - 1] != x->dims[x->rank - 2]) {
        return error_set(err, ERROR_INVALID, "a matrix of %lld rows and %lld columns",
                         (long long)x->dims[x->rank - 2], (long long)x->dims[x->rank - 1]);
    }
    outputs[0].shape = *x;
    outputs[0].shape.rank -= 2;
    return 0;
}
