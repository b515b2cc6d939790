/* chain_loops.h: the inner loops of a chain (chain.h), compiled once per instruction set from
 * chain_loops.inc. Each loop computes one instruction for a block of rows. */
#pragma once

#include "agent/engine/device/cpu/isa.h"

enum chain_op {
    /* of two operands: 0 and 1 */
    CHAIN_ADD,
    CHAIN_SUB,
    CHAIN_MUL,
    CHAIN_DIV,
    CHAIN_MAX, /* NaN if one of them is NaN, as CHAIN_MIN */
    CHAIN_MIN,
    CHAIN_LESS, /* 1 or 0, as the next two */
    CHAIN_LESS_EQUAL,
    CHAIN_EQUAL,
    CHAIN_PRELU, /* a < 0 ? a * b : a */
    CHAIN_POW,
    /* of one operand */
    CHAIN_MOVE,   /* a copy; spreads, and gathers with any strides */
    CHAIN_AFFINE, /* a * p + q */
    CHAIN_CLIP,   /* to [p, q] */
    CHAIN_ABS,
    CHAIN_EXP,   /* 0 where it would be below 1.2e-38 */
    CHAIN_EXPM1, /* e^a - 1 and ln(1 + a), precise near 0 */
    CHAIN_LOG,
    CHAIN_LOG1P,
    CHAIN_SQRT,
    CHAIN_RECIPROCAL,
    CHAIN_TANH,
    CHAIN_SIGMOID,
    CHAIN_SILU,       /* a * sigmoid(a) */
    CHAIN_HARD_SWISH, /* a times a * p + q, which is clipped to [0, 1] */
    CHAIN_ERF,
    CHAIN_FLOOR,
    CHAIN_CEIL,
    CHAIN_ROUND,    /* to nearest, ties to even */
    CHAIN_FUNCTION, /* args.function of each element */
    CHAIN_WHERE,    /* a != 0 ? b : c */
    /* of a row: one number for each row, at out[row] */
    CHAIN_ROW_SUM,
    CHAIN_ROW_SQUARES, /* the sum of squares */
    CHAIN_ROW_MAX,
    CHAIN_ROW_MIN,
    /* bool tensors, bytes in memory: 1 or 0 here */
    CHAIN_LOAD_BOOL,
    CHAIN_STORE_BOOL,
    CHAIN_OP_COUNT
};

/* Element (row, column) is at data + row * row_step + column * column_step, in elements. */
struct chain_operand {
    const void *data; /* float; of CHAIN_LOAD_BOOL bytes */
    ptrdiff_t row_step, column_step;
};

struct chain_args {
    int rows, columns;
    void *out; /* float; of CHAIN_STORE_BOOL bytes. The columns are adjacent */
    ptrdiff_t out_row_step;
    /* column_step is 0 or 1, but for CHAIN_MOVE. An operand may be the same memory as out, if its
     * steps are the same, too. */
    struct chain_operand in[3];
    float p, q;
    float (*function)(float x);
};

struct chain_loops {
    void (*run[CHAIN_OP_COUNT])(const struct chain_args *args);
};

const struct chain_loops *chain_loops_get(enum isa isa);

extern const struct chain_loops chain_loops_plain, chain_loops_avx2, chain_loops_avx512;
