/* gemm_bfloat.h: a product with a constant matrix in bfloat16, with float32 sums. */
#pragma once

#include "agent/engine/device/cpu/fast/conv_weights.h"
#include "agent/engine/device/cpu/threads.h"
#include "agent/engine/device/cpu/vector/vector_bfloat.h"

struct gemm_bfloat {
    const struct bfloat_ops *ops;
    const uint16_t *weights; /* of a 1x1 convolution (conv_weights_round) */
    const float *bias;
    int m, k, n, block; /* block: vector_ops.block */
    float low, high;    /* the result is clamped to these */
    /* Set by gemm_bfloat_plan: rows whose rounded values are in memory at once, and pairs of blocks
     * of columns, all and per unit of work. */
    int block_rows, pairs, unit_pairs;
};

/* Returns the bytes of scratch memory. The fields above the plan must be set. */
size_t gemm_bfloat_plan(struct gemm_bfloat *gemm, int threads);
/* out [m, n] = a [m, k] times the weights. */
void gemm_bfloat_run(const struct gemm_bfloat *gemm, struct threads *threads, const float *a,
                     float *out, void *scratch);
