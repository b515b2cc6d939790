// SPDX-License-Identifier: Apache-2.0
#include "agent/ops/matmul.h"
#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#include "agent/ops/elementwise.h"

#include <string.h>

/* y[m, n] += alpha * a[m, k] * b[k, n]; a and b are read with the strides given. */
struct product {
    int64_t k, n;
    const float *a, *b;
    float *y;
    int64_t a_row, a_column, b_row, b_column;
    float alpha;
};

static void product_body(void *context, int64_t first, int64_t last) {
    const struct product *p = context;
    for (int64_t row = first; row < last; row++) {
        float *y = p->y + row * p->n;
        for (int64_t k = 0; k < p->k; k++) {
            float a = p->alpha * p->a[row * p->a_row + k * p->a_column];
            const float *b = p->b + k * p->b_row;
            for (int64_t i = 0; i < p->n; i++) {
                y[i] += a * b[i * p->b_column];
            }
        }
    }
}

static int matmul_run(const struct call *call, struct error *err) {
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    float *y = call->outputs[0]->data;
    struct matmul matmul;
    if (matmul_params(&a->shape, &b->shape, &matmul, err) < 0) {
        return -1;
    }
    int64_t count = shape_count(&matmul.batch);
    for (int64_t batch = 0; batch < count; batch++) {
        int64_t rest = batch, a_at = 0, b_at = 0;
        for (int i = matmul.batch.rank - 1; i >= 0; i--) {
            int64_t index = rest % matmul.batch.dims[i];
            rest /= matmul.batch.dims[i];
            a_at += index * matmul.a_strides[i];
            b_at += index * matmul.b_strides[i];
        }
        struct product product = {matmul.k,
                                  matmul.n,
                                  (const float *)a->data + a_at * matmul.m * matmul.k,
                                  (const float *)b->data + b_at * matmul.k * matmul.n,
                                  y + batch * matmul.m * matmul.n,
                                  matmul.k,
                                  1,
                                  matmul.n,
                                  1,
                                  1};
        memset(product.y, 0, (size_t)(matmul.m * matmul.n) * sizeof(float));
        threads_run(cpu_threads(call), matmul.m, 1, product_body, &product);
    }
    return 0;
}
const struct kernel reference_matmul = {"reference matmul", matmul_run};

/* y = beta * c, broadcast. */
static void start_from(const struct tensor *c, float beta, const struct tensor *y) {
    int64_t strides[TENSOR_RANK_MAX];
    float *to = y->data;
    int64_t rows = y->shape.dims[0], columns = y->shape.dims[1];
    if (c) {
        broadcast_strides(&c->shape, &y->shape, strides);
    }
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < columns; i++) {
            *to++ = c ? beta * ((const float *)c->data)[row * strides[0] + i * strides[1]] : 0;
        }
    }
}

static int gemm_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    const struct tensor *c = call->input_count > 2 ? call->inputs[2] : NULL;
    bool a_turned = node_integer(call->node, "transA", 0);
    bool b_turned = node_integer(call->node, "transB", 0);
    int64_t m = call->outputs[0]->shape.dims[0], n = call->outputs[0]->shape.dims[1];
    int64_t k = a->shape.dims[!a_turned];
    struct product product = {k,
                              n,
                              a->data,
                              b->data,
                              call->outputs[0]->data,
                              a_turned ? 1 : k,
                              a_turned ? m : 1,
                              b_turned ? 1 : n,
                              b_turned ? k : 1,
                              node_number(call->node, "alpha", 1)};
    start_from(c, node_number(call->node, "beta", 1), call->outputs[0]);
    threads_run(cpu_threads(call), m, 1, product_body, &product);
    return 0;
}
const struct kernel reference_gemm = {"reference gemm", gemm_run};
