// SPDX-License-Identifier: Apache-2.0
/* Gradients of LSTM, GRU and RNN: one kernel goes back through time. As nodes they would need one
 * group per step, and the number of steps is known only with the data. */
#include "agent/engine/ops/infer/recurrent.h"

#include "agent/engine/ops/training/gradient.h"

enum { FORWARD_INPUTS = 8, FORWARD_OUTPUTS = 3, GRADIENTS = 7 };

int gradient_recurrent(struct gradient *gradient, const struct node *node,
                       struct error *err UNUSED) {
    int inputs[FORWARD_INPUTS + FORWARD_OUTPUTS + 1];
    for (int i = 0; i < FORWARD_INPUTS; i++) {
        inputs[i] = i < node->input_count ? node->inputs[i] : -1;
    }
    for (int i = 0; i < FORWARD_OUTPUTS; i++) {
        int output = i < node->output_count ? node->outputs[i] : -1;
        inputs[FORWARD_INPUTS + i] = gradient_of(gradient, output);
    }
    inputs[FORWARD_INPUTS + FORWARD_OUTPUTS] = -2;
    int made = gradient_node_of(gradient, OP_RECURRENT_GRADIENT, inputs, GRADIENTS);
    for (int i = 0; i < GRADIENTS; i++) {
        int input = recurrent_gradient_input(i);
        if (input < node->input_count) {
            gradient_add(gradient, node->inputs[input], made + i);
        }
    }
    return 0;
}
