/* recurrent.h: RNN, GRU and LSTM: a state of `hidden` numbers for each sequence, which goes over
 * its steps. X [steps, batch, input]; W [directions, gates * hidden, input], R the same by hidden,
 * B of both. With layout 1 the batch comes first. Source: ONNX 7, 14. */
#pragma once

#include "agent/engine/graph.h"

/* What a gate goes through: those without numbers of their own, HardSigmoid with its usual ones. */
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
    /* f, g and h of the specification, of each direction; RNN has f alone, GRU f and g */
    enum recurrent_function functions[RECURRENT_DIRECTIONS_MAX][RECURRENT_FUNCTIONS_MAX];
    bool is_batch_first;
    bool is_reverse; /* the first direction goes backwards; a second one does always */
    int64_t steps, batch, input, hidden, directions;
};

NODISCARD int recurrent_params(const struct node *node, const struct fact *const *inputs,
                               struct recurrent *ret_recurrent, struct error *err);
/* Y, every state, [steps, directions, batch, hidden]; the last states, [directions, batch, hidden]
 * (with layout 1 the batch is first). */
NODISCARD int infer_recurrent(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
