/* vector_bfloat.h: products of matrices in bfloat16 with float32 sums: the inner loops, once for
 * each kind of instruction.
 *
 * A tile is 16 rows of 32 values of k. The left operand is [row tiles][steps][16][32], the right
 * one [steps][blocks][16][16][2]: pairs of k, for each of 16 columns. k is rounded up to whole
 * steps of 32, and the right operand's values beyond it are zeros. Numbers are rounded to the
 * nearest, ties to even; those below 1.2e-38 count as 0. */
#pragma once

#include "agent/engine/device/cpu/isa.h"

enum { BFLOAT_ROWS = 16, BFLOAT_STEP = 32, BFLOAT_TILE = BFLOAT_ROWS * BFLOAT_STEP };

/* Rows of floats: a row's values are run_count runs of run_length floats that are adjacent. Run r
 * of row i starts at in + rows[i] + runs[r], or at in + i * row if `rows` is NULL. */
struct bfloat_rows {
    const float *in;
    const ptrdiff_t *rows;
    size_t row;
    const ptrdiff_t *runs;
    int count, run_count, run_length;
};

/* Floats that become a right operand: element (i, j) is at data + i * row + j * column. */
struct bfloat_matrix {
    const float *data;
    ptrdiff_t row, column;
    int k, columns; /* at most two blocks of columns */
};

/* The product of some rows with one or two blocks of columns. */
struct bfloat_job {
    const uint16_t *a;
    int rows, steps;
    const uint16_t *weights;
    int block;         /* columns of a block that are used, at most 16 */
    int columns;       /* of the result, at most 2 * block; more than block: two blocks */
    const float *bias; /* [2 * block], or [block] of one block; NULL: none */
    float low, high;   /* the result is clamped to these */
    float *out;        /* row i is at out + places[i], or at out + i * row if places is NULL */
    const ptrdiff_t *places;
    size_t row, out_block; /* out_block: from the first block of columns to the second */
    const float *add;      /* added before clamping, at the same offsets as out; or NULL */
    /* Memory that the next job reads: it is prefetched in small portions. */
    const uint16_t *ahead;
    size_t ahead_count;
};

struct bfloat_ops {
    const char *name;  /* "amx", "avx512_bf16", "plain" */
    bool is_far_ahead; /* faster than Winograd's algorithm in float32 */
    void (*gather)(uint16_t *tiles, int steps, const struct bfloat_rows *rows);
    void (*pack)(uint16_t *to, const struct bfloat_matrix *from, int block);
    void (*multiply)(const struct bfloat_job *job);
};

static inline int vector_bfloat_steps(int64_t k) {
    return (int)((k + BFLOAT_STEP - 1) / BFLOAT_STEP);
}
/* Values of the tiles of this many rows, and of a block of columns. */
static inline size_t vector_bfloat_rows_count(int rows, int steps) {
    return (size_t)((rows + BFLOAT_ROWS - 1) / BFLOAT_ROWS) * (size_t)steps * BFLOAT_TILE;
}
static inline size_t vector_bfloat_block_count(int steps) {
    return (size_t)steps * BFLOAT_TILE;
}
/* Rounded; NaN stays NaN. */
uint16_t vector_bfloat_round(float value);
float vector_bfloat_value(uint16_t bits);

extern const struct bfloat_ops vector_bfloat_plain, vector_bfloat_avx512, vector_bfloat_amx;
