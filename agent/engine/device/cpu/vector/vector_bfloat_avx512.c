// SPDX-License-Identifier: Apache-2.0
/* The loops of vector_bfloat.h in AVX512_BF16. */
#ifdef __x86_64__
#include "agent/engine/device/cpu/vector/vector_bfloat.inc"

enum { ROWS = 8 }; // that are computed at once, for two blocks

// Adds the products of a pair of k.
static INLINE void add_pair(const uint16_t *a, const uint16_t *pairs, const int rows,
                            const int blocks, __m512 sums[2][ROWS]) {
    __m512bh w0 = (__m512bh)_mm512_loadu_si512(pairs);
    __m512bh w1 = (__m512bh)_mm512_loadu_si512(pairs + (blocks > 1 ? BFLOAT_TILE : 0));
    UNROLL for (int i = 0; i < rows; i++) {
        int32_t pair;
        memcpy(&pair, a + i * BFLOAT_STEP, sizeof pair);
        __m512bh value = (__m512bh)_mm512_set1_epi32(pair);
        sums[0][i] = _mm512_dpbf16_ps(sums[0][i], value, w0);
        if (blocks > 1) {
            sums[1][i] = _mm512_dpbf16_ps(sums[1][i], value, w1);
        }
    }
}

static INLINE void multiply_some(const struct bfloat_job *job, const int rows, const int blocks,
                                 int first) {
    const uint16_t *a = job->a + (size_t)(first / BFLOAT_ROWS * job->steps) * BFLOAT_TILE +
                        (size_t)(first % BFLOAT_ROWS) * BFLOAT_STEP;
    const uint16_t *w = job->weights;
    __m512 sums[2][ROWS];
    UNROLL for (int j = 0; j < blocks; j++) {
        UNROLL for (int i = 0; i < rows; i++) {
            sums[j][i] = _mm512_setzero_ps();
        }
    }
    for (int s = 0; s < job->steps; s++, a += BFLOAT_TILE, w += blocks * BFLOAT_TILE) {
        for (int k = 0; k < BFLOAT_STEP; k += 2) {
            add_pair(a + k, w + k / 2 * BFLOAT_STEP, rows, blocks, sums);
        }
    }
    UNROLL for (int j = 0; j < blocks; j++) {
        const struct finish finish = finish_of(job, j);
        UNROLL for (int i = 0; i < rows; i++) {
            finish_row(&finish, place_of(job, first + i), sums[j][i]);
        }
    }
}

#define ROWS_CASE(n)                                                                               \
    case n:                                                                                        \
        if (job->columns > BLOCK) {                                                                \
            multiply_some(job, n, 2, first);                                                       \
        } else {                                                                                   \
            multiply_some(job, n, 1, first);                                                       \
        }                                                                                          \
        break;

static void multiply(const struct bfloat_job *job) {
    const uint16_t *ahead = job->ahead;
    size_t left = job->ahead_count, groups = (size_t)(job->rows + ROWS - 1) / ROWS;
    size_t portion = (left / groups + BFLOAT_STEP) / BFLOAT_STEP * BFLOAT_STEP;
    for (int first = 0; first < job->rows; first += ROWS) {
        fetch(&ahead, &left, portion);
        switch (MIN(ROWS, job->rows - first)) {
            ROWS_CASE(1)
            ROWS_CASE(2)
            ROWS_CASE(3)
            ROWS_CASE(4)
            ROWS_CASE(5)
            ROWS_CASE(6)
            ROWS_CASE(7)
            ROWS_CASE(8)
        }
    }
}

const struct bfloat_ops vector_bfloat_avx512 = {
    .name = "avx512_bf16", .gather = gather, .pack = pack, .multiply = multiply};
#endif
