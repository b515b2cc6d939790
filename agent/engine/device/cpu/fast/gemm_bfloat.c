// SPDX-License-Identifier: Apache-2.0
// A block of rows is rounded to tiles, by all threads; then a unit of work multiplies it by some
// pairs of blocks of columns. While a pair is computed, the weights of the next one are prefetched.
#include "agent/engine/device/cpu/fast/gemm_bfloat.h"

#include "agent/engine/device/cpu/fast/parallel.h"

enum {
    ROUNDED_MAX = 1 << 19, // values of a block of rows, which stay in the second-level cache
    ROWS_MAX = 512,
    PAIRS = 4, // of a unit, at most
};

size_t gemm_bfloat_plan(struct gemm_bfloat *gemm, int threads) {
    const int pair = 2 * BFLOAT_ROWS; // which is multiplied at once
    int steps = vector_bfloat_steps(gemm->k), wide = DIRECT_BLOCKS_MAX * gemm->block;
    int fit = MAX(MIN(ROUNDED_MAX / (steps * BFLOAT_STEP), ROWS_MAX), pair);
    int blocks = (gemm->m + fit - 1) / fit;
    gemm->block_rows = ((gemm->m + blocks - 1) / blocks + pair - 1) / pair * pair;
    gemm->pairs = (gemm->n + wide - 1) / wide;
    gemm->unit_pairs = MAX(MIN(gemm->pairs / (4 * threads), PAIRS), 1);
    return vector_bfloat_rows_count(MIN(gemm->block_rows, gemm->m), steps) * sizeof(uint16_t);
}

// A block of rows of a run.
struct run {
    const struct gemm_bfloat *gemm;
    const float *a;
    float *out;
    uint16_t *rounded;
    int rows;
};

// Rounds 16 rows.
static void round_rows(void *context, int index, int lane UNUSED) {
    static const ptrdiff_t runs[1] = {0};
    const struct run *run = context;
    const struct gemm_bfloat *gemm = run->gemm;
    int first = index * BFLOAT_ROWS, steps = vector_bfloat_steps(gemm->k);
    const struct bfloat_rows rows = {.in = run->a + (size_t)first * (size_t)gemm->k,
                                     .row = (size_t)gemm->k,
                                     .runs = runs,
                                     .count = MIN(BFLOAT_ROWS, run->rows - first),
                                     .run_count = 1,
                                     .run_length = gemm->k};
    gemm->ops->gather(run->rounded + vector_bfloat_rows_count(first, steps), steps, &rows);
}

static void multiply_unit(void *context, int index, int lane UNUSED) {
    const struct run *run = context;
    const struct gemm_bfloat *gemm = run->gemm;
    int steps = vector_bfloat_steps(gemm->k), wide = DIRECT_BLOCKS_MAX * gemm->block;
    int end = MIN((index + 1) * gemm->unit_pairs, gemm->pairs);
    for (int pair = index * gemm->unit_pairs; pair < end; pair++) {
        int column = pair * wide;
        size_t weights = (size_t)(pair * DIRECT_BLOCKS_MAX) * vector_bfloat_block_count(steps);
        struct bfloat_job job = {.a = run->rounded,
                                 .rows = run->rows,
                                 .steps = steps,
                                 .weights = gemm->weights + weights,
                                 .block = gemm->block,
                                 .columns = MIN(wide, gemm->n - column),
                                 .bias = gemm->bias + column,
                                 .low = gemm->low,
                                 .high = gemm->high,
                                 .out = run->out + column,
                                 .row = (size_t)gemm->n,
                                 .out_block = (size_t)gemm->block};
        if (pair + 2 < gemm->pairs) { // the last one may have one block
            job.ahead = job.weights + DIRECT_BLOCKS_MAX * vector_bfloat_block_count(steps);
            job.ahead_count = DIRECT_BLOCKS_MAX * vector_bfloat_block_count(steps);
        }
        gemm->ops->multiply(&job);
    }
}

void gemm_bfloat_run(const struct gemm_bfloat *gemm, struct threads *threads, const float *a,
                     float *out, void *scratch) {
    struct run run = {.gemm = gemm, .rounded = scratch};
    int units = (gemm->pairs + gemm->unit_pairs - 1) / gemm->unit_pairs;
    for (int first = 0; first < gemm->m; first += gemm->block_rows) {
        run.rows = MIN(gemm->block_rows, gemm->m - first);
        run.a = a + (size_t)first * (size_t)gemm->k;
        run.out = out + (size_t)first * (size_t)gemm->n;
        parallel_for(threads, (run.rows + BFLOAT_ROWS - 1) / BFLOAT_ROWS, round_rows, &run);
        parallel_for(threads, units, multiply_unit, &run);
    }
}
