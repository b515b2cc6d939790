// SPDX-License-Identifier: Apache-2.0
// Each loop of each instruction set against C's functions in double precision: all kinds of
// numbers, rows that do not fill a register, operands that are spread, operands in place.
#include "agent/engine/device/cpu/chain/chain_loops.h"

#include <math.h>
#include <string.h>

#include "tests/test.h"

enum { COUNT = 4003, SUM_ROWS = 5, SUM_COLUMNS_MAX = 40 };

static float numbers[COUNT], seen[COUNT];

struct function {
    const char *name;
    enum chain_op op;
    double (*wanted)(double x);
    double relative, absolute; /* errors that are allowed; either is enough */
};

static double reciprocal(double x) {
    return 1 / x;
}
/* Where e^x would have no full exponent it is 0. */
static double exponential(double x) {
    return x < (double)-87.33F ? 0 : exp(x);
}
static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

/* The sigmoid of a number far below 0 is not quite 0. */
static double silu(double x) {
    return isinf(x) ? x : x * logistic(x);
}
static double hard_swish(double x) {
    return x * fmin(fmax(x / 6 + 0.5, 0), 1);
}

static void check_number(const struct function *function, enum isa isa, float x, float y) {
    double wanted = function->wanted((double)x), off = fabs((double)y - wanted);
    bool same = isnan(wanted) ? isnan(y) : (float)wanted == y;
    if (!same && !(off <= function->absolute || off <= function->relative * fabs(wanted))) {
        printf("# %s of %.9g, %s: %.9g instead of %.9g\n", function->name, (double)x, isa_name(isa),
               (double)y, wanted);
        test_failures++;
    }
}

static const struct function functions[] = {
    {"abs", CHAIN_ABS, fabs, 0, 0},
    {"exp", CHAIN_EXP, exponential, 3e-7, 0},
    {"expm1", CHAIN_EXPM1, expm1, 5e-7, 0},
    {"log1p", CHAIN_LOG1P, log1p, 5e-7, 0},
    {"log", CHAIN_LOG, log, 3e-7, 1e-7},
    {"sqrt", CHAIN_SQRT, sqrt, 1e-7, 0},
    {"reciprocal", CHAIN_RECIPROCAL, reciprocal, 1e-7, 0},
    {"tanh", CHAIN_TANH, tanh, 2e-6, 0},
    {"sigmoid", CHAIN_SIGMOID, logistic, 2e-6, 1e-37},
    {"silu", CHAIN_SILU, silu, 2e-6, 2e-8},
    {"hard swish", CHAIN_HARD_SWISH, hard_swish, 1e-6, 1e-6},
    {"erf", CHAIN_ERF, erf, 1e-6, 4e-7},
    {"floor", CHAIN_FLOOR, floor, 0, 0},
    {"ceil", CHAIN_CEIL, ceil, 0, 0},
    {"round", CHAIN_ROUND, nearbyint, 0, 0},
};

static void fill_numbers(void) {
    for (int i = 0; i < COUNT; i++) {
        float size = i % 3 == 0 ? 1e-3F : i % 3 == 1 ? 0.05F : 0.01F;
        numbers[i] = (float)(i - COUNT / 2) * size;
    }
    const float odd[] = {0,      -0.0F, INFINITY, -INFINITY, NAN,    88.5F,  88.9F,
                         -87.5F, -103,  -200,     1e-40F,    1e30F,  -1e30F, 0.5F,
                         1.5F,   2.5F,  1,        -1,        1e-32F, -1e-36F};
    memcpy(numbers, odd, sizeof odd);
}

static void test_functions(void) {
    fill_numbers();
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        for (size_t i = 0; isa_runs_here(isa) && i < ARRAY_LEN(functions); i++) {
            struct chain_args args = {
                .rows = 1, .columns = COUNT, .out = seen, .p = 1.0F / 6, .q = 0.5F};
            args.in[0] = (struct chain_operand){numbers, COUNT, 1};
            chain_loops_get(isa)->run[functions[i].op](&args);
            for (int k = 0; k < COUNT; k++) {
                check_number(&functions[i], isa, numbers[k], seen[k]);
            }
        }
    }
}

static float pair(enum chain_op op, float a, float b) {
    switch (op) {
    case CHAIN_ADD:
        return a + b;
    case CHAIN_SUB:
        return a - b;
    case CHAIN_MUL:
        return a * b;
    case CHAIN_DIV:
        return a / b;
    case CHAIN_MAX:
        return a > b || isnan(a) ? a : b;
    case CHAIN_MIN:
        return a < b || isnan(a) ? a : b;
    case CHAIN_LESS:
        return a < b;
    case CHAIN_LESS_EQUAL:
        return a <= b;
    case CHAIN_EQUAL:
        return a == b;
    case CHAIN_PRELU:
        return a < 0 ? a * b : a;
    default:
        return (float)pow((double)a, (double)b);
    }
}

static bool same_number(float a, float b) {
    return isnan(a) ? isnan(b) : a == b;
}

// Three rows, 25 apart; kinds: 0 full, 1 one number a row, 2 one row for all.
static struct chain_operand operand_of(const float *data, int kind) {
    return (struct chain_operand){data, kind == 0 ? 25 : kind == 1, kind != 1};
}

struct pair_kinds {
    int a, b, columns;
};

static void check_pairs(const struct chain_loops *loops, enum chain_op op,
                        struct pair_kinds kinds) {
    const float *a = numbers, *b = numbers + 1000;
    struct chain_args args = {.rows = 3, .columns = kinds.columns, .out = seen, .out_row_step = 25};
    args.in[0] = operand_of(a, kinds.a);
    args.in[1] = operand_of(b, kinds.b);
    loops->run[op](&args);
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i < kinds.columns; i++) {
            float x = a[row * args.in[0].row_step + i * args.in[0].column_step];
            float y = b[row * args.in[1].row_step + i * args.in[1].column_step];
            CHECK(same_number(pair(op, x, y), seen[row * 25 + i]));
        }
    }
}

static void test_pairs(void) {
    static const int columns[] = {21, 4, 8, 16}; // the others: of one register
    fill_numbers();
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        for (int i = 0; isa_runs_here(isa) && i <= CHAIN_POW; i++) {
            for (int kinds = 0; kinds < 36; kinds++) {
                check_pairs(chain_loops_get(isa), (enum chain_op)i,
                            (struct pair_kinds){kinds / 3 % 3, kinds % 3, columns[kinds / 9]});
            }
        }
    }
}

// Rows by one number, to the last bit, as rows too short for it are divided.
static void test_divisions(void) {
    static const float by[] = {3,        49,  -0.1F, 1.4142135F, 5.656854F, 0x1.fffffep0F, 1e-3F,
                               INFINITY, NAN, 0,     1e-40F,     3e38F,     1e17F,         -7e-18F};
    fill_numbers();
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        for (size_t i = 0; isa_runs_here(isa) && i < ARRAY_LEN(by); i++) {
            struct chain_args args = {.rows = 1, .columns = COUNT, .out = seen};
            args.in[0] = (struct chain_operand){numbers, COUNT, 1};
            args.in[1] = (struct chain_operand){&by[i], 0, 0};
            chain_loops_get(isa)->run[CHAIN_DIV](&args);
            for (int k = 0; k < COUNT; k++) {
                float wanted = numbers[k] / by[i];
                CHECK(same_number(wanted, seen[k]));
                CHECK(isnan(wanted) || signbit(wanted) == signbit(seen[k]));
            }
        }
    }
}

static void check_rows(const struct chain_loops *loops, int columns) {
    const float *x = numbers + 100;
    struct chain_args args = {.rows = 2, .columns = columns, .out = seen, .out_row_step = 1};
    args.in[0] = (struct chain_operand){x, columns, 1};
    for (int op = CHAIN_ROW_SUM; op <= CHAIN_ROW_MIN; op++) {
        loops->run[op](&args);
        for (int row = 0; row < 2; row++) {
            double sum = 0, squares = 0, size = 0, low = INFINITY, high = -INFINITY;
            for (int i = 0; i < columns; i++) {
                double value = (double)x[row * columns + i];
                sum += value;
                squares += value * value;
                size += fabs(value);
                low = fmin(low, value);
                high = fmax(high, value);
            }
            double wanted = op == CHAIN_ROW_SUM       ? sum
                            : op == CHAIN_ROW_SQUARES ? squares
                            : op == CHAIN_ROW_MAX     ? high
                                                      : low;
            CHECK(fabs((double)seen[row] - wanted) <=
                  1e-6 * (op == CHAIN_ROW_SUM ? size : fabs(wanted)));
        }
    }
}

static void test_rows(void) {
    fill_numbers();
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        for (int columns = 1; isa_runs_here(isa) && columns < 150; columns += 7) {
            check_rows(chain_loops_get(isa), columns);
        }
    }
    float with_nan[40] = {0};
    with_nan[37] = NAN;
    struct chain_args args = {.rows = 1, .columns = 40, .out = seen};
    args.in[0] = (struct chain_operand){with_nan, 40, 1};
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        for (int op = CHAIN_ROW_SUM; isa_runs_here(isa) && op <= CHAIN_ROW_MIN; op++) {
            chain_loops_get(isa)->run[op](&args);
            CHECK(isnan(seen[0]));
        }
    }
}

/* How reductions over outer axes add up: one row is an operand and the result of each step. */
static void check_sum_over_rows(const struct chain_loops *loops, int columns) {
    float rows[SUM_ROWS * SUM_COLUMNS_MAX], sum[SUM_COLUMNS_MAX] = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rows[i] = (float)(i % 7);
    }
    struct chain_args args = {.rows = SUM_ROWS, .columns = columns, .out = sum};
    args.in[0] = (struct chain_operand){sum, 0, 1};
    args.in[1] = (struct chain_operand){rows, columns, 1};
    loops->run[CHAIN_ADD](&args);
    for (int i = 0; i < columns; i++) {
        float wanted = 0;
        for (int row = 0; row < SUM_ROWS; row++) {
            wanted += rows[row * columns + i];
        }
        CHECK(sum[i] == wanted);
    }
}

static void test_sums_over_rows(void) {
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        for (int columns = 1; isa_runs_here(isa) && columns <= SUM_COLUMNS_MAX; columns++) {
            check_sum_over_rows(chain_loops_get(isa), columns);
        }
    }
}

static float twice(float x) {
    return 2 * x;
}

static void test_others(void) {
    const uint8_t bytes[5] = {0, 1, 255, 0, 2};
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        if (!isa_runs_here(isa)) {
            continue;
        }
        const struct chain_loops *loops = chain_loops_get(isa);
        struct chain_args args = {.rows = 1, .columns = 5, .out = seen, .p = 3, .q = 1};
        args.in[0] = (struct chain_operand){bytes, 0, 1};
        loops->run[CHAIN_LOAD_BOOL](&args);
        CHECK(seen[0] == 0 && seen[1] == 1 && seen[2] == 1 && seen[3] == 0 && seen[4] == 1);
        float x[40], y[40], condition[40];
        for (int i = 0; i < 40; i++) {
            x[i] = (float)i;
            condition[i] = i % 3 == 0;
        }
        args = (struct chain_args){.rows = 1, .columns = 40, .out = y, .p = 3, .q = 1};
        args.in[0] = (struct chain_operand){x, 0, 1};
        loops->run[CHAIN_AFFINE](&args);
        CHECK(y[0] == 1 && y[39] == 118);
        args.p = 5, args.q = 7;
        loops->run[CHAIN_CLIP](&args);
        CHECK(y[0] == 5 && y[6] == 6 && y[39] == 7);
        args.function = twice;
        loops->run[CHAIN_FUNCTION](&args);
        CHECK(y[0] == 0 && y[39] == 78);
        args.in[0] = (struct chain_operand){x, 0, -1};
        args.in[0].data = x + 39;
        loops->run[CHAIN_MOVE](&args);
        CHECK(y[0] == 39 && y[39] == 0);
        args.in[0] = (struct chain_operand){condition, 0, 1};
        args.in[1] = (struct chain_operand){x, 0, 1};
        args.in[2] = (struct chain_operand){x + 1, 0, 0};
        loops->run[CHAIN_WHERE](&args);
        CHECK(y[0] == 0 && y[1] == 1 && y[2] == 1 && y[39] == 39 && y[38] == 1);
        uint8_t stored[40];
        args = (struct chain_args){.rows = 1, .columns = 40, .out = stored};
        args.in[0] = (struct chain_operand){condition, 0, 1};
        loops->run[CHAIN_STORE_BOOL](&args);
        CHECK(stored[0] == 1 && stored[1] == 0 && stored[39] == 1);
    }
}

int main(void) {
    TEST(test_functions);
    TEST(test_pairs);
    TEST(test_divisions);
    TEST(test_rows);
    TEST(test_sums_over_rows);
    TEST(test_others);
    return TEST_END();
}
