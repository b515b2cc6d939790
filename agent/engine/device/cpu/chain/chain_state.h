/* chain_state.h: the state of a chain's step, shared by the files that build and run it. */
#pragma once

#include "agent/engine/device/cpu/chain/chain.h"
#include "agent/engine/device/cpu/chain/chain_loops.h"

enum {
    CHAIN_INSTRUCTIONS_MAX = 64,
    CHAIN_VALUES_MAX = 128,
    CHAIN_INPUTS_MAX = CHAIN_VALUES_MAX,
    CHAIN_STEPS_MAX = 48,
    CHAIN_OUTPUTS_MAX = CHAIN_STEPS_MAX,
    CHAIN_ROW_ELEMENTS = 16384, /* elements of a row that is reduced: registers hold whole rows */
};

enum chain_kind {
    CHAIN_NUMBER, /* the same for all elements */
    CHAIN_INPUT,  /* read from memory */
    CHAIN_RESULT, /* of an instruction */
};

struct chain_value {
    enum chain_kind kind;
    float number;
    int slot;           /* in the schedule; -1: none */
    struct shape shape; /* of an input: as it is broadcast to the domain */
    float *owned;       /* of an input that the chain has computed itself; else NULL */
    bool is_bool;       /* of an input: bytes in memory */
    bool is_row;        /* of a result: one number per row */
    bool is_loaded;     /* of a result: an input of type bool, as numbers */
    int last_use;       /* the last instruction that reads it; -1: none */
    int output;         /* of a result: the step's output that it is stored to; -1: none */
};

struct chain_instruction {
    enum chain_op op;
    int in[3];       /* values; -1: none */
    int out;         /* a value; of CHAIN_STORE_BOOL -1 */
    int stored_bool; /* of CHAIN_STORE_BOOL: the step's output */
    float p, q;
    float (*function)(float x);
};

/* Whether the operation makes one number of each row. */
static inline bool chain_reduces(enum chain_op op) {
    return op >= CHAIN_ROW_SUM && op <= CHAIN_ROW_MIN;
}

/* Where an operand of an instruction is: at bases[base] + offset; base 0 is the lane's registers,
 * the others are inputs and outputs. */
struct chain_address {
    int base;
    int64_t offset; /* floats */
    ptrdiff_t row_step, column_step;
};

/* An instruction with its addresses. */
struct chain_task {
    enum chain_op op;
    int operands;
    bool by_row;  /* over the rows of a block, as one row of numbers */
    bool is_flat; /* its operands are adjacent rows: a block is one long row */
    struct chain_address in[3], out;
    float p, q;
    float (*function)(float x);
};

/* An input or output in memory, along the outer dimensions, the rows and the columns. */
struct chain_pointer {
    bool is_output, is_byte;
    int index; /* of the step's inputs or outputs; -1: `data` */
    const float *data;
    int64_t outer_steps[TENSOR_RANK_MAX + 1], row_step, column_step;
};

struct chain {
    struct shape domain;
    int reduced; /* the last dimensions, which reductions cover; 0: no reduction */
    bool refuses_blocks;
    int value_count, instruction_count;
    struct chain_value values[CHAIN_VALUES_MAX];
    /* Those of nodes, and then room for one more per output, of CHAIN_STORE_BOOL. */
    struct chain_instruction instructions[CHAIN_INSTRUCTIONS_MAX + CHAIN_OUTPUTS_MAX];
    int input_count, output_count;
    int inputs[CHAIN_INPUTS_MAX], outputs[CHAIN_OUTPUTS_MAX]; /* slots */

    /* chain_plan.c */
    int lanes; /* of blocked values; 0: they are row-major */
    int outer_rank;
    int64_t outer[TENSOR_RANK_MAX + 1], rows, columns, outer_count;
    int block_rows, block_columns;     /* of a block */
    int64_t row_blocks, column_blocks; /* blocks in each of the outer_count pieces */
    int64_t blocks_per_unit;
    int task_count, pointer_count;
    struct chain_task *tasks;
    struct chain_pointer *pointers;
    size_t register_floats, lane_floats; /* of one register; of a thread's */
    const struct chain_loops *loops;
};

/* chain_lower.c: appends the instructions of a step's node. False: it cannot be part of the chain,
 * which is unchanged then. With an empty chain (value_count 0, domain.rank -1) the node sets the
 * domain. */
bool chain_lower(const struct schedule *schedule, const struct step *step, struct chain *chain);

/* chain_merge.c: replaces instructions that have a loop together, such as those of SiLU. Results
 * stay the same, bit by bit. */
void chain_merge(struct chain *chain);
