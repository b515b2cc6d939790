// SPDX-License-Identifier: Apache-2.0
/* MatMul and Gemm. */
#include "agent/engine/ops/infer/matmul.h"
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/elementwise.h"

#include <string.h>

/* y[m, n] += alpha * a[m, k] * b[k, n]; a and b are read with the strides given. */
struct product {
    int64_t k, n;
    const void *a, *b;
    void *y;
    int64_t a_row, a_column, b_row, b_column;
    float alpha;
};

#define REAL float
#define NAMED(name) name##_float
#include "agent/engine/device/cpu/reference/matmul.inc"
#define REAL double
#define NAMED(name) name##_double
#include "agent/engine/device/cpu/reference/matmul.inc"

/* Integers wrap around, so they are computed as unsigned ones, which have the same bits. */
#define REAL uint32_t
#define NAMED(name) name##_int32
#include "agent/engine/device/cpu/reference/matmul.inc"
#define REAL uint64_t
#define NAMED(name) name##_int64
#include "agent/engine/device/cpu/reference/matmul.inc"

static threads_body *body_for(enum tensor_type type) {
    return type == TENSOR_FLOAT64 ? product_body_double
           : type == TENSOR_INT32 ? product_body_int32
           : type == TENSOR_INT64 ? product_body_int64
                                  : product_body_float;
}

static int matmul_run(const struct call *call, struct error *err) {
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    int64_t size = (int64_t)tensor_type_size(a->type);
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
                                  (const char *)a->data + a_at * matmul.m * matmul.k * size,
                                  (const char *)b->data + b_at * matmul.k * matmul.n * size,
                                  (char *)call->outputs[0]->data +
                                      batch * matmul.m * matmul.n * size,
                                  matmul.k,
                                  1,
                                  matmul.n,
                                  1,
                                  1};
        memset(product.y, 0, (size_t)(matmul.m * matmul.n * size));
        threads_run(cpu_threads(call), matmul.m, 1, body_for(a->type), &product);
    }
    return 0;
}
const struct kernel reference_matmul = {"reference matmul", matmul_run};

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
    bool is_double = a->type == TENSOR_FLOAT64;
    float beta = node_number(call->node, "beta", 1);
    (is_double ? start_from_double : start_from_float)(c, beta, call->outputs[0]);
    threads_run(cpu_threads(call), m, 1, body_for(a->type), &product);
    return 0;
}
const struct kernel reference_gemm = {"reference gemm", gemm_run};
