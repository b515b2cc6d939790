/* recurrent.h: RNN, GRU and LSTM: a state of `hidden` numbers for each sequence, which goes over
 * its steps. X [steps, batch, input]; W [directions, gates * hidden, input], R the same by hidden,
 * B of both. With layout 1 the batch comes first. Source: ONNX 7, 14. */
#pragma once

#include "agent/graph/graph.h"

struct recurrent {
    int gates; /* 1: RNN; 3: GRU; 4: LSTM */
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
