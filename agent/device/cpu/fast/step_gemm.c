// SPDX-License-Identifier: Apache-2.0
// Products with a constant matrix: a 1x1 convolution of a row-major picture whose pixels are the
// rows of the other matrix.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/device/cpu/fast/parallel.h"
#include "agent/device/cpu/fast/steps.h"
#include "agent/ops/table.h"

enum { ROWS = 28 }; /* of a unit of work */

struct gemm_step {
    int m, k, n;
    const struct conv_weights *weights; /* borrowed from the cache */
};

static bool is_constant(const struct schedule *schedule, int slot) {
    return schedule->slots[slot].is_lasting && schedule->slots[slot].type == TENSOR_FLOAT32;
}

// [n, k] from the constant [k, n] or, transposed, [n, k].
static float *weights_of(const struct slot *slot, bool transposed, int n, int k) {
    const float *from = slot->constant;
    float *to = x_calloc((size_t)n * (size_t)k, sizeof *to);
    for (size_t i = 0; i < (size_t)n * (size_t)k; i++) {
        size_t row = i / (size_t)k, column = i % (size_t)k;
        to[i] = transposed ? from[i] : from[column * (size_t)n + row];
    }
    return to;
}

static const struct conv_weights *cached_weights(struct cpu_device *cpu,
                                                 const struct schedule *schedule,
                                                 const struct step *step,
                                                 const struct gemm_step *gemm) {
    const struct slot *b = &schedule->slots[step->inputs[1]];
    int bias_slot = step->input_count > 2 ? step->inputs[2] : -1;
    const float *bias = bias_slot < 0 ? NULL : schedule->slots[bias_slot].constant;
    struct weights_key key = {step->node, b->constant, bias, NULL, CONV_DIRECT, true};
    struct conv_weights *weights = weights_cache_get(cpu->weights, &key);
    if (weights) {
        return weights;
    }
    float alpha = node_number(step->node, "alpha", 1), beta = node_number(step->node, "beta", 1);
    bool transposed = node_integer(step->node, "transB", 0);
    float *matrix = weights_of(b, transposed, gemm->n, gemm->k);
    float *scaled = x_calloc((size_t)gemm->n, sizeof *scaled);
    for (int i = 0; i < gemm->n; i++) {
        scaled[i] = bias ? bias[i] * beta : 0;
    }
    for (size_t i = 0; i < (size_t)gemm->n * (size_t)gemm->k; i++) {
        matrix[i] *= alpha;
    }
    struct conv_shape shape = {
        .n = 1, .channels_in = gemm->k, .channels_out = gemm->n, .kernel_h = 1, .kernel_w = 1};
    struct conv_source source = {.weights = matrix, .bias = scaled};
    weights = conv_weights_new(cpu->vectors, &shape, CONV_DIRECT, true, &source);
    weights_cache_put(cpu->weights, &key, weights);
    free(matrix);
    free(scaled);
    return weights;
}

void gemm_step_try(struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    const struct slot *a = &schedule->slots[step->inputs[0]];
    const struct slot *b = &schedule->slots[step->inputs[1]];
    const struct slot *y = &schedule->slots[step->outputs[0]];
    bool product = step->node->op->id == OP_GEMM || step->node->op->id == OP_MATMUL;
    if (!product || a->type != TENSOR_FLOAT32 || !is_constant(schedule, step->inputs[1]) ||
        a->shape.rank < 2 || b->shape.rank != 2 || node_integer(step->node, "transA", 0)) {
        return;
    }
    int64_t n = y->shape.dims[y->shape.rank - 1], k = a->shape.dims[a->shape.rank - 1];
    int64_t elements = shape_count(&y->shape);
    if (n < 1 || k < 1 || elements < 1 || n * k > INT32_MAX || elements > INT32_MAX) {
        return;
    }
    int bias = step->input_count > 2 ? step->inputs[2] : -1;
    if (bias >= 0 &&
        (!is_constant(schedule, bias) || shape_count(&schedule->slots[bias].shape) != n ||
         schedule->slots[bias].shape.dims[schedule->slots[bias].shape.rank - 1] != n)) {
        return;
    }
    struct gemm_step *state = x_calloc(1, sizeof *state);
    *state = (struct gemm_step){.m = (int)(elements / n), .k = (int)k, .n = (int)n};
    state->weights = cached_weights(cpu, schedule, step, state);
    step->state = state;
    step->release = free;
    step->kernel = &fast_gemm;
}

struct product {
    const struct vector_ops *ops;
    const struct gemm_step *step;
    const float *a;
    float *out;
    int pairs; /* of blocks of output columns */
};

static void product_unit(void *context, int index, int lane UNUSED) {
    const struct product *p = context;
    const struct gemm_step *step = p->step;
    int b = p->ops->block, first = index / p->pairs * ROWS, rows = MIN(ROWS, step->m - first);
    int column = index % p->pairs * DIRECT_BLOCKS_MAX * b;
    const ptrdiff_t runs[1] = {0};
    float room[DIRECT_BLOCKS_MAX * ROWS * VECTOR_LANES_MAX] __attribute__((aligned(64)));
    struct direct_job job = {
        .width = rows,
        .rows = 1,
        .blocks = MIN(DIRECT_BLOCKS_MAX, (step->n - column + b - 1) / b),
        .in = p->a + (size_t)first * (size_t)step->k,
        .pixel = (size_t)step->k,
        .runs = runs,
        .run_count = 1,
        .run_length = step->k,
        .weights = step->weights->data + (size_t)column * (size_t)step->k,
        .bias = step->weights->bias + column,
        .low = -INFINITY,
        .high = INFINITY,
        .out = room,
        .out_block = (size_t)(ROWS * b),
    };
    p->ops->direct(&job);
    for (int i = 0; i < job.blocks * rows; i++) {
        int block = i / rows, row = i % rows, at = column + block * b;
        memcpy(p->out + (size_t)(first + row) * (size_t)step->n + at,
               room + (block * ROWS + row) * b, (size_t)MIN(b, step->n - at) * sizeof(float));
    }
}

static int gemm_run(const struct call *call, struct error *err UNUSED) {
    struct cpu_device *cpu = (struct cpu_device *)call->device;
    struct product product = {.ops = cpu->vectors,
                              .step = call->state,
                              .a = call->inputs[0]->data,
                              .out = call->outputs[0]->data};
    int pair = DIRECT_BLOCKS_MAX * product.ops->block;
    product.pairs = (product.step->n + pair - 1) / pair;
    parallel_for(cpu->threads, product.pairs * ((product.step->m + ROWS - 1) / ROWS), product_unit,
                 &product);
    return 0;
}
const struct kernel fast_gemm = {"fast Gemm", gemm_run};
