/* recurrent.h: RNN, GRU and LSTM: each sequence has a state of `hidden` numbers, which every step
 * updates. X [steps, batch, input]; W [directions, gates * hidden, input]; R [directions, gates *
 * hidden, hidden]; B has the biases of both. With layout 1 the batch is the first dimension.
 * Source: ONNX 7, 14. */
#pragma once

#include "agent/engine/graph/node.h"

/* Activation functions of gates: those without parameters, and HardSigmoid with its default
 * parameters. */
enum recurrent_function {
    RECURRENT_SIGMOID,
    RECURRENT_TANH,
    RECURRENT_RELU,
    RECURRENT_SOFTSIGN,
    RECURRENT_SOFTPLUS,
    RECURRENT_HARD_SIGMOID,
    RECURRENT_FUNCTION_COUNT
};
enum { RECURRENT_DIRECTIONS_MAX = 2, RECURRENT_FUNCTIONS_MAX = 3 };

struct recurrent {
    int gates; /* 1: RNN; 3: GRU; 4: LSTM */
    /* f, g and h of the specification, per direction; RNN has only f, GRU has f and g */
    enum recurrent_function functions[RECURRENT_DIRECTIONS_MAX][RECURRENT_FUNCTIONS_MAX];
    bool is_batch_first;
    bool is_reverse; /* the first direction is backwards; the second always is */
    int64_t steps, batch, input, hidden, directions;
};

/* Of the forward node, or of its gradient's. */
NODISCARD int recurrent_params(const struct node *node, const struct fact *const *inputs,
                               struct recurrent *ret_recurrent, struct error *err);
/* Outputs: Y, all states, [steps, directions, batch, hidden]; the last states, [directions, batch,
 * hidden]. With layout 1 the batch is the first dimension. */
NODISCARD int infer_recurrent(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);

/* ---- RecurrentGradient (internal.h) ---- */

/* The input of the forward node whose gradient this output is. */
int recurrent_gradient_input(int output);
/* Floats that a step of one sequence leaves for the way back. */
int64_t recurrent_record_size(const struct recurrent *recurrent);
/* ERROR_UNSUPPORTED: the steps would not fit the limit of 8 GiB. */
NODISCARD int infer_recurrent_gradient(const struct node *node, const struct fact *const *inputs,
                                       struct fact *outputs, struct error *err);
