// SPDX-License-Identifier: Apache-2.0
/* Gradients of elementwise operators, matrix products and softmax. One thread computes each number
 * in a fixed order, so results do not depend on the number of threads. */
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/device/cpu/reference/walk.h"
#include "agent/engine/ops/infer/elementwise.h"
#include "agent/engine/ops/infer/internal.h"
#include "agent/engine/ops/infer/matmul.h"
#include "agent/engine/ops/infer/reduce.h"
#include "agent/engine/ops/table.h"

#include <math.h>
#include <string.h>

enum { GRAIN = 16384 };

struct unary_gradient {
    int op;
    const float *dy, *v; /* v: the forward x or y */
    float *dx;
    float a, b;
};

#define EACH(expression)                                                                           \
    _Pragma("omp simd") for (int64_t i = first; i < last; i++) {                                   \
        float v = g->v[i];                                                                         \
        g->dx[i] = g->dy[i] * (expression);                                                        \
    }                                                                                              \
    break

static void unary_gradient_body(void *context, int64_t first, int64_t last) {
    const struct unary_gradient *g = context;
    float a = g->a, b = g->b;
    switch (g->op) {
    case OP_ABS:
        EACH((float)((v > 0) - (v < 0)));
    case OP_CLIP:
        EACH((float)(v >= a && v <= b));
    case OP_ELU:
        EACH(v < 0 ? a * expf(v) : 1);
    case OP_ERF:
        EACH(1.1283791670955126f * expf(-v * v));
    case OP_EXP:
        EACH(v);
    case OP_HARD_SIGMOID:
        EACH(a * v + b > 0 && a * v + b < 1 ? a : 0);
    case OP_HARD_SWISH:
        EACH(v <= -3 ? 0 : v >= 3 ? 1 : v / 3 + 0.5f);
    case OP_LEAKY_RELU:
        EACH(v < 0 ? a : 1);
    case OP_LOG:
        EACH(1 / v);
    case OP_RECIPROCAL:
        EACH(-v * v);
    case OP_RELU:
        EACH((float)(v > 0));
    case OP_SELU:
        EACH(v < 0 ? b * a * expf(v) : b);
    case OP_SIGMOID:
        EACH(v * (1 - v));
    case OP_SOFTPLUS:
        EACH(1 / (1 + expf(-v)));
    case OP_SOFTSIGN:
        EACH(1 / ((1 + fabsf(v)) * (1 + fabsf(v))));
    case OP_SQRT:
        EACH(0.5f / v);
    default: /* OP_TANH */
        EACH(1 - v * v);
    }
}

/* The forward operator's parameters. */
static void read_numbers(const struct call *call, struct unary_gradient *g) {
    if (g->op == OP_CLIP) {
        elementwise_clip_bounds(call->node, call->input_count > 2 ? call->inputs[2] : NULL,
                                call->input_count > 3 ? call->inputs[3] : NULL, &g->a, &g->b);
    } else {
        elementwise_unary_numbers(call->node, g->op, &g->a, &g->b);
    }
}

static int unary_gradient_run(const struct call *call, struct error *err UNUSED) {
    struct unary_gradient g = {.op = op_forward_node(call->node).op->id,
                               .dy = call->inputs[0]->data,
                               .v = call->inputs[1]->data,
                               .dx = call->outputs[0]->data};
    read_numbers(call, &g);
    threads_run(cpu_threads(call), shape_count(&call->outputs[0]->shape), GRAIN,
                unary_gradient_body, &g);
    return 0;
}
const struct kernel reference_unary_gradient = {"reference unary_gradient", unary_gradient_run};

struct sum_to {
    const float *x;
    double *y;
};

static void sum_to_row(void *context, const int64_t *offsets, const int64_t *steps, int64_t count) {
    const struct sum_to *sum = context;
    for (int64_t i = 0; i < count; i++) {
        sum->y[offsets[1] + i * steps[1]] += (double)sum->x[offsets[0] + i * steps[0]];
    }
}

static int sum_to_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0], *y = call->outputs[0];
    struct tensor sums;
    if (tensor_init(&sums, TENSOR_FLOAT64, &y->shape, err) < 0) {
        return -1;
    }
    struct walk walk = {.shape = x->shape, .operand_count = 2};
    walk_plain_strides(&x->shape, walk.strides[0]);
    elementwise_broadcast_strides(&y->shape, &x->shape, walk.strides[1]);
    struct sum_to sum = {x->data, sums.data};
    walk_each(&walk, sum_to_row, &sum);
    int64_t count = shape_count(&y->shape);
    for (int64_t i = 0; i < count; i++) {
        ((float *)y->data)[i] = (float)sum.y[i];
    }
    tensor_release(&sums);
    return 0;
}
const struct kernel reference_sum_to = {"reference sum_to", sum_to_run};

/* One pair of matrices: to[row, :] += over the inner index, left * right. */
struct product {
    int64_t columns, inner;
    const float *left, *right;
    int64_t left_row, left_inner, right_inner, right_column;
    float *to;
};

static void product_body(void *context, int64_t first, int64_t last) {
    const struct product *p = context;
    for (int64_t row = first; row < last; row++) {
        for (int64_t k = 0; k < p->inner; k++) {
            float left = p->left[row * p->left_row + k * p->left_inner];
            const float *right = p->right + k * p->right_inner;
            for (int64_t i = 0; i < p->columns; i++) {
                p->to[row * p->columns + i] += left * right[i * p->right_column];
            }
        }
    }
}

/* da = dy b' or db = a' dy, summed over what broadcasting repeats, one batch after the other. */
static int matmul_gradient_run(const struct call *call, struct error *err) {
    const struct tensor *a = call->inputs[1], *b = call->inputs[2], *to = call->outputs[0];
    const float *dy = call->inputs[0]->data;
    bool is_b = node_integer(call->node, "side", 0);
    struct matmul mm;
    if (matmul_params(&a->shape, &b->shape, &mm, err) < 0) {
        return -1;
    }
    memset(to->data, 0, (size_t)shape_count(&to->shape) * sizeof(float));
    int64_t count = shape_count(&mm.batch);
    for (int64_t batch = 0; batch < count; batch++) {
        int64_t rest = batch, a_at = 0, b_at = 0;
        for (int i = mm.batch.rank - 1; i >= 0; i--) {
            int64_t index = rest % mm.batch.dims[i];
            rest /= mm.batch.dims[i];
            a_at += index * mm.a_strides[i] * mm.m * mm.k;
            b_at += index * mm.b_strides[i] * mm.k * mm.n;
        }
        const float *part = dy + batch * mm.m * mm.n;
        struct product da = {mm.k, mm.n, part, (const float *)b->data + b_at, mm.n,
                             1,    1,    mm.n, (float *)to->data + a_at};
        struct product db = {mm.n, mm.m, (const float *)a->data + a_at, part, 1, mm.k,
                             mm.n, 1,    (float *)to->data + b_at};
        threads_run(cpu_threads(call), is_b ? mm.k : mm.m, 1, product_body, is_b ? &db : &da);
    }
    return 0;
}
const struct kernel reference_matmul_gradient = {"reference matmul_gradient", matmul_gradient_run};

/* dx = y (dy - sum dy y); for LogSoftmax: dx = dy - e^y sum dy. */
static int softmax_gradient_run(const struct call *call, struct error *err) {
    const float *dy = call->inputs[0]->data, *y = call->inputs[1]->data;
    float *dx = call->outputs[0]->data;
    bool is_log = op_forward_node(call->node).op->id == OP_LOG_SOFTMAX;
    struct softmax softmax;
    if (softmax_params(call->node, &call->inputs[1]->shape, &softmax, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < softmax.outer * softmax.inner; i++) {
        int64_t start = reduce_softmax_start(&softmax, i);
        double sum = 0;
        for (int64_t k = 0; k < softmax.axis; k++) {
            int64_t at = start + k * softmax.inner;
            sum += (double)dy[at] * (is_log ? 1 : (double)y[at]);
        }
        for (int64_t k = 0; k < softmax.axis; k++) {
            int64_t at = start + k * softmax.inner;
            double value = (double)y[at];
            dx[at] = (float)(is_log ? (double)dy[at] - exp(value) * sum
                                    : value * ((double)dy[at] - sum));
        }
    }
    return 0;
}
const struct kernel reference_softmax_gradient = {"reference softmax_gradient",
                                                  softmax_gradient_run};
