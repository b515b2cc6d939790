/* lane.h: the gradient of LSTM, GRU and RNN as steps of single sequences, which
 * gradient_recurrent.c walks one by one, and lane_groups.c many at a time. */
#pragma once

#include "agent/engine/device/cpu/chain/chain_loops.h"
#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/ops/infer/recurrent.h"

/* The node's inputs: those of the forward node, then the gradients of its outputs. */
enum {
    LANE_X,
    LANE_W,
    LANE_R,
    LANE_B,
    LANE_LENGTHS,
    LANE_H0,
    LANE_C0,
    LANE_P,
    LANE_DY,
    LANE_DH,
    LANE_DC,
    LANE_INPUTS
};
enum { LANE_DX, LANE_DW, LANE_DR, LANE_DB, LANE_DH0, LANE_DC0, LANE_DP };

struct lane_work {
    struct recurrent r;
    const struct call *call;
    const struct chain_loops *loops;  /* for the gates' functions */
    const float *inputs[LANE_INPUTS]; /* NULL: absent */
    float *outputs[LANE_DP + 1];
    bool resets_first; /* GRU: the reset gate acts on the state, not on its product */
    float clip;
    int64_t rows, record_size; /* gates * hidden; floats of a record */
    float *records;            /* [directions, batch, steps] */
    float *scratch;            /* per direction and sequence: lane_floats */
};

/* One sequence in one direction. */
struct lane {
    const struct lane_work *work;
    int64_t direction, sequence, length;
    const float *w, *recurrence, *b, *p; /* b, p: NULL if absent */
    float *x_part, *h_part;              /* [rows] */
    float *h, *c, *more;                 /* [hidden]; on the way back gradients of h and c */
};

/* Of one step. `value` and `slope` are those of the gates' functions; `slope` becomes the gradient
 * of what the functions were given. */
struct lane_record {
    float *value, *slope; /* [rows] */
    float *h;             /* the state before */
    /* LSTM: the cell before. GRU: the state times the reset gate; with linear_before_reset the
     * state's product of the hidden gate, which becomes that product's gradient. */
    float *before;
    float *cell, *cell_slope; /* LSTM: h(cell) */
};

size_t lane_floats(const struct lane_work *work);
struct lane lane_of(const struct lane_work *work, int64_t direction, int64_t sequence);
/* Of the sequence's n-th step. */
struct lane_record lane_record_of(const struct lane *lane, int64_t n);
/* Where x of that step is, from the start of input X. */
int64_t lane_x_at(const struct lane *lane, int64_t n);

/* Sets the states before the first step, or the gradients behind the last one. */
void lane_start(const struct lane *lane);
void lane_start_back(const struct lane *lane);
void lane_end_back(const struct lane *lane);
/* From the products x_part and h_part to the states and the step's record. x_part may be the
 * record's values. */
void lane_forward(const struct lane *lane, int64_t n);
/* From the gradients of the states to those of what the gates were given. What comes back through
 * R, and for the GRU's hidden gate from record.before, is still to be added to lane->h. */
void lane_back(const struct lane *lane, int64_t n);
/* Adds what steps give biases and peepholes in rows first..last - 1. */
void lane_add_biases(const struct lane *lane, int64_t n, int64_t first, int64_t last);
void lane_add_peepholes(const struct lane *lane, int64_t n, int64_t first, int64_t last);
/* Where the gradient of the state's product of a row is, and what its matrix was multiplied by. */
void lane_state_part(const struct lane_work *work, const struct lane_record *record, int64_t row,
                     float *ret_gradient, const float **ret_state);
/* to[i] += sum of matrix[row, i] * vector[row] */
void lane_add_product(const float *matrix, const float *vector, int64_t rows, int64_t columns,
                      float *to);
