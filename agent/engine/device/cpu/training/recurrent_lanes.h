/* recurrent_lanes.h: the gradient of LSTM, GRU and RNN as steps of single sequences, which
 * gradient_recurrent.c walks one by one, and recurrent_groups.c many at a time. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/ops/infer/recurrent.h"

/* The node's inputs: those of the forward node, then the gradients of its outputs. */
enum {
    RECURRENT_X,
    RECURRENT_W,
    RECURRENT_R,
    RECURRENT_B,
    RECURRENT_LENGTHS,
    RECURRENT_H0,
    RECURRENT_C0,
    RECURRENT_P,
    RECURRENT_DY,
    RECURRENT_DH,
    RECURRENT_DC,
    RECURRENT_INPUTS
};
enum {
    RECURRENT_DX,
    RECURRENT_DW,
    RECURRENT_DR,
    RECURRENT_DB,
    RECURRENT_DH0,
    RECURRENT_DC0,
    RECURRENT_DP
};

struct recurrent_work {
    struct recurrent r;
    const struct call *call;
    const float *inputs[RECURRENT_INPUTS]; /* NULL: absent */
    float *outputs[RECURRENT_DP + 1];
    bool resets_first; /* GRU: the reset gate acts on the state, not on its product */
    float clip;
    int64_t rows, record_size; /* gates * hidden; floats of a record */
    float *records;            /* [directions, batch, steps] */
    float *scratch;            /* per direction and sequence: recurrent_lane_floats */
};

/* One sequence in one direction. */
struct recurrent_lane {
    const struct recurrent_work *work;
    int64_t direction, sequence, length;
    const float *w, *recurrence, *b, *p; /* b, p: NULL if absent */
    float *x_part, *h_part;              /* [rows] */
    float *h, *c, *more;                 /* [hidden]; on the way back gradients of h and c */
};

/* Of one step. `value` and `slope` are those of the gates' functions; `slope` becomes the gradient
 * of what the functions were given. */
struct recurrent_record {
    float *value, *slope; /* [rows] */
    float *h;             /* the state before */
    /* LSTM: the cell before. GRU: the state times the reset gate; with linear_before_reset the
     * state's product of the hidden gate, which becomes that product's gradient. */
    float *before;
    float *cell, *cell_slope; /* LSTM: h(cell) */
};

size_t recurrent_lane_floats(const struct recurrent_work *work);
struct recurrent_lane recurrent_lane_of(const struct recurrent_work *work, int64_t direction,
                                        int64_t sequence);
/* Of the sequence's n-th step. */
struct recurrent_record recurrent_record_of(const struct recurrent_lane *lane, int64_t n);
/* Where x of that step is, from the start of input X. */
int64_t recurrent_x_at(const struct recurrent_lane *lane, int64_t n);

/* Sets the states before the first step, or the gradients behind the last one. */
void recurrent_start(const struct recurrent_lane *lane);
void recurrent_start_back(const struct recurrent_lane *lane);
void recurrent_end_back(const struct recurrent_lane *lane);
/* From the products x_part and h_part to the states and the step's record. x_part may be the
 * record's values. */
void recurrent_forward_gates(const struct recurrent_lane *lane, int64_t n);
/* From the gradients of the states to those of what the gates were given. What comes back through
 * R, and for the GRU's hidden gate from record.before, is still to be added to lane->h. */
void recurrent_back_gates(const struct recurrent_lane *lane, int64_t n);
/* Adds what steps give biases and peepholes in rows first..last - 1. */
void recurrent_add_biases(const struct recurrent_lane *lane, int64_t n, int64_t first,
                          int64_t last);
void recurrent_add_peepholes(const struct recurrent_lane *lane, int64_t n, int64_t first,
                             int64_t last);

/* Computes all gradients with products of many sequences or steps. False: the call is one that it
 * does not take (sequences of different lengths, a GRU that resets first), or there is no memory
 * for it. */
bool recurrent_groups_run(const struct recurrent_work *work, const struct cpu_device *cpu);
