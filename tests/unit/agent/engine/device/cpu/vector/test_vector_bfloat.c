// SPDX-License-Identifier: Apache-2.0
// Products in bfloat16 against the definition in double: the plain loops on every processor, and
// the instructions that this one has. All tails of rows, columns and k.
#include "agent/engine/device/cpu/vector/vector_bfloat_choice.h"

#include <math.h>
#include <stdlib.h>

#include "tests/seed.h"
#include "tests/test.h"

enum { ROWS = 70, K = 200, COLUMNS = 32, BLOCK = 16, GAP = 3 };

static uint64_t state = 7;

static float number(void) {
    return (float)((double)test_below(&state, 1 << 24) / (1 << 23) - 1);
}

static double rounded(float x) {
    return (double)vector_bfloat_value(vector_bfloat_round(x));
}

static void test_rounding(void) {
    CHECK_INT(0x3F80, vector_bfloat_round(1.0F));
    CHECK_INT(0x3F80, vector_bfloat_round(1.0F + 0x1p-8F)); // a tie, to even
    CHECK_INT(0x3F82, vector_bfloat_round(1.0F + 0x3p-8F)); // a tie, to even
    CHECK_INT(0x3F81, vector_bfloat_round(1.0F + 0x1.1p-8F));
    CHECK_INT(0x8000, vector_bfloat_round(-0x1p-130F));
    CHECK_INT(0x7F80, vector_bfloat_round(INFINITY));
    CHECK_INT(0x7F80, vector_bfloat_round(0x1.ffp127F));
    CHECK(isnan(vector_bfloat_value(vector_bfloat_round(NAN))));
    for (int i = 0; i < 1000; i++) {
        float x = number();
        CHECK(fabs(rounded(x) - (double)x) <= 0x1p-8 * fabs((double)x));
    }
}

// One product: rows of `run_count` runs.
struct product {
    float in[ROWS * (K + GAP)], weights[2 * K * COLUMNS], bias[COLUMNS], add[ROWS * COLUMNS];
    ptrdiff_t rows[ROWS], runs[K], places[ROWS];
    int count, k, columns, run_length, row, column; // row, column: strides of weights
    bool has_bias, has_add, is_clamped, is_placed;
};

static void draw(struct product *p) {
    p->count = 1 + (int)test_below(&state, ROWS);
    p->columns = 1 + (int)test_below(&state, COLUMNS);
    p->run_length = 1 + (int)test_below(&state, test_below(&state, 2) ? 8 : 64);
    p->run_length = test_below(&state, 3) ? p->run_length : 16 * (1 + p->run_length % 4);
    int runs = 1 + (int)test_below(&state, (uint64_t)(K / p->run_length));
    p->k = runs * p->run_length;
    static const int strides[][2] = {{COLUMNS, 1}, {1, K}, {2 * COLUMNS, 2}};
    uint64_t order = test_below(&state, ARRAY_LEN(strides));
    p->row = strides[order][0];
    p->column = strides[order][1];
    for (int i = 0; i < ROWS; i++) {
        p->rows[i] = (ptrdiff_t)(ROWS - 1 - i) * (K + GAP);
        p->places[i] = (ptrdiff_t)(i * 9 % ROWS) * COLUMNS;
    }
    for (int r = 0; r < runs; r++) { // the last one first
        p->runs[r] = (ptrdiff_t)(runs - 1 - r) * p->run_length;
    }
    for (size_t i = 0; i < ARRAY_LEN(p->in); i++) {
        p->in[i] = number();
    }
    for (size_t i = 0; i < ARRAY_LEN(p->weights); i++) {
        p->weights[i] = number();
    }
    for (size_t i = 0; i < ARRAY_LEN(p->bias); i++) {
        p->bias[i] = number();
    }
    for (size_t i = 0; i < ARRAY_LEN(p->add); i++) {
        p->add[i] = number();
    }
    uint64_t flags = test_below(&state, 16);
    p->has_bias = flags & 1;
    p->has_add = flags & 2;
    p->is_clamped = flags & 4;
    p->is_placed = flags & 8;
}

// Row i and column j: the sum, and in *ret_size that of absolute values.
static double wanted(const struct product *p, int i, int j, double *ret_size) {
    double sum = p->has_bias ? (double)p->bias[j] : 0;
    *ret_size = 1;
    for (int k = 0; k < p->k; k++) {
        float x = p->in[p->rows[i] + p->runs[k / p->run_length] + k % p->run_length];
        double product = rounded(x) * rounded(p->weights[k * p->row + j * p->column]);
        sum += product;
        *ret_size += fabs(product);
    }
    ptrdiff_t at = p->is_placed ? p->places[i] : (ptrdiff_t)i * COLUMNS;
    sum += p->has_add ? (double)p->add[at + j] : 0;
    return p->is_clamped ? fmin(fmax(sum, -0.5), 0.5) : sum;
}

static void check(const struct bfloat_ops *ops, const struct product *p) {
    int steps = vector_bfloat_steps(p->k), blocks = p->columns > BLOCK ? 2 : 1;
    size_t tiles = vector_bfloat_rows_count(p->count, steps);
    uint16_t *a = aligned_alloc(64, tiles * sizeof *a);
    uint16_t *w = aligned_alloc(64, (size_t)blocks * vector_bfloat_block_count(steps) * sizeof *w);
    memset(w, 0xff, (size_t)blocks * vector_bfloat_block_count(steps) * sizeof *w);
    const struct bfloat_matrix matrix = {p->weights, p->row, p->column, p->k, p->columns};
    ops->pack(w, &matrix, BLOCK);
    memset(a, 0xff, tiles * sizeof *a); // NaN, in case it is read
    const struct bfloat_rows rows = {.in = p->in,
                                     .rows = p->rows,
                                     .runs = p->runs,
                                     .count = p->count,
                                     .run_count = p->k / p->run_length,
                                     .run_length = p->run_length};
    ops->gather(a, steps, &rows);
    float out[ROWS * COLUMNS];
    memset(out, 0x55, sizeof out);
    const struct bfloat_job job = {.a = a,
                                   .rows = p->count,
                                   .steps = steps,
                                   .weights = w,
                                   .block = BLOCK,
                                   .columns = p->columns,
                                   .bias = p->has_bias ? p->bias : NULL,
                                   .low = p->is_clamped ? -0.5F : -INFINITY,
                                   .high = p->is_clamped ? 0.5F : INFINITY,
                                   .out = out,
                                   .places = p->is_placed ? p->places : NULL,
                                   .row = COLUMNS,
                                   .out_block = BLOCK,
                                   .add = p->has_add ? p->add : NULL,
                                   .ahead = w,
                                   .ahead_count =
                                       (size_t)blocks * vector_bfloat_block_count(steps)};
    ops->multiply(&job);
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        ptrdiff_t at = p->is_placed ? p->places[i] : (ptrdiff_t)i * COLUMNS;
        for (int j = 0; j < COLUMNS; j++) {
            double size, y = i < p->count ? wanted(p, i, j, &size) : 0;
            bool is_made = i < p->count && j < p->columns;
            uint32_t bits;
            memcpy(&bits, &out[at + j], sizeof bits);
            /* Factors are exact; sums are float32's. */
            wrong += is_made ? !(fabs((double)out[at + j] - y) <= 2e-6 * size) : bits != 0x55555555;
        }
    }
    if (wrong) {
        printf("# %s: %d of %d x %d, k %d in runs of %d\n", ops->name, wrong, p->count, p->columns,
               p->k, p->run_length);
        test_failures++;
    }
    free(a);
    free(w);
}

static void check_ops(const char *name) {
    const struct bfloat_ops *ops = vector_bfloat_get(name);
    if (!ops) {
        SKIP("this processor has no %s", name);
    }
    static struct product product;
    state = test_seed(20261201);
    for (int64_t round = 0; round < test_rounds(300); round++) {
        draw(&product);
        check(ops, &product);
    }
}

static void test_plain(void) {
    check_ops("plain");
}

static void test_avx512_bf16(void) {
    check_ops("avx512_bf16");
}

static void test_amx(void) {
    check_ops("amx");
}

// NaN and infinities reach the outputs of their row, and no others.
static void test_odd_numbers(void) {
    static struct product product;
    for (size_t which = 0; which < 3; which++) {
        const struct bfloat_ops *ops =
            vector_bfloat_get((const char *[]){"plain", "avx512_bf16", "amx"}[which]);
        uint16_t a[2 * BFLOAT_TILE] __attribute__((aligned(64)));
        uint16_t w[BFLOAT_TILE] __attribute__((aligned(64)));
        float out[ROWS * BLOCK];
        draw(&product);
        product.in[5 * BFLOAT_STEP] = NAN;
        product.in[6 * BFLOAT_STEP] = -INFINITY;
        for (int j = 0; j < BLOCK * BFLOAT_STEP; j++) {
            product.weights[j] = 1;
        }
        const struct bfloat_matrix matrix = {product.weights, BLOCK, 1, BFLOAT_STEP, BLOCK};
        const ptrdiff_t runs[1] = {0};
        const struct bfloat_rows rows = {.in = product.in,
                                         .row = BFLOAT_STEP,
                                         .runs = runs,
                                         .count = 20,
                                         .run_count = 1,
                                         .run_length = BFLOAT_STEP};
        const struct bfloat_job job = {.a = a,
                                       .rows = 20,
                                       .steps = 1,
                                       .weights = w,
                                       .block = BLOCK,
                                       .columns = BLOCK,
                                       .low = -INFINITY,
                                       .high = INFINITY,
                                       .out = out,
                                       .row = BLOCK};
        if (ops) {
            ops->pack(w, &matrix, BLOCK);
            ops->gather(a, 1, &rows);
            ops->multiply(&job);
        }
        for (int i = 0; ops && i < 20 * BLOCK; i++) {
            int row = i / BLOCK;
            CHECK(row == 5   ? isnan(out[i])
                  : row == 6 ? isinf(out[i]) && out[i] < 0
                             : isfinite(out[i]));
        }
    }
}

// What the environment chooses, and an older processor.
static void test_choice(void) {
    const struct bfloat_ops *best = vector_bfloat_best();
    CHECK(best != &vector_bfloat_plain);
    setenv("WINDLASS_CPU_BF16", "plain", 1);
    CHECK(vector_bfloat_best() == &vector_bfloat_plain);
    unsetenv("WINDLASS_CPU_BF16");
    setenv("WINDLASS_CPU_ISA", "avx2", 1);
    CHECK(!vector_bfloat_best() && !vector_bfloat_get("amx") && !vector_bfloat_get("avx512_bf16"));
    unsetenv("WINDLASS_CPU_ISA");
    CHECK(vector_bfloat_best() == best);
    printf("# this processor: %s\n", best ? best->name : "no instructions for bfloat16");
}

int main(void) {
    TEST(test_rounding);
    TEST(test_plain);
    TEST(test_avx512_bf16);
    TEST(test_amx);
    TEST(test_odd_numbers);
    TEST(test_choice);
    return TEST_END();
}
