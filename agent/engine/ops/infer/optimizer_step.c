// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/optimizer_step.h"

int optimizer_step_states(enum optimizer_step_kind kind) {
    bool has_two = kind == OPTIMIZER_STEP_ADAM || kind == OPTIMIZER_STEP_LAMB;
    return kind == OPTIMIZER_STEP_PLAIN ? 0 : has_two ? 2 : 1;
}

int infer_global_norm(const struct node *node UNUSED, const struct fact *const *inputs UNUSED,
                      struct fact *outputs, struct error *err UNUSED) {
    outputs[0].shape = (struct shape){1, {1}};
    return 0;
}

int infer_optimizer_step(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err) {
    int states = optimizer_step_states(
        (enum optimizer_step_kind)node_integer(node, "kind", OPTIMIZER_STEP_PLAIN));
    const struct shape *shape = &inputs[0]->shape;
    if (node->input_count != 3 + states || node->output_count != 1 + states) {
        return error_set(err, ERROR_INVALID, "an optimizer of %d vectors has %d inputs, not %d",
                         states, 3 + states, node->input_count);
    }
    for (int i = 0; i < node->input_count; i++) {
        bool fits = i == 2 ? shape_count(&inputs[i]->shape) == OPTIMIZER_NUMBERS
                           : shape_equal(&inputs[i]->shape, shape);
        if (!fits) {
            return error_set(err, ERROR_INVALID, "input %d: the shape of the weights is expected",
                             i);
        }
    }
    for (int i = 0; i < node->output_count; i++) {
        outputs[i].shape = *shape;
    }
    return 0;
}
