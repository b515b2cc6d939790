// SPDX-License-Identifier: Apache-2.0
/* Gradients of losses, whose nodes compute them beside the loss. */
#include "agent/engine/ops/training/gradient.h"

static bool is_one(const struct builder *builder, int value) {
    const struct value *seed = &builder->graph.values[value];
    return seed->is_constant && shape_count(&seed->shape) == 1 &&
           *(const float *)seed->constant.data == 1;
}

/* Output 1 of a loss is its gradient. */
int gradient_loss(struct gradient *gradient, const struct node *node, struct error *err) {
    int dy = gradient_of(gradient, node->outputs[0]), dx = node->outputs[1];
    if (dy < 0 || gradient_wants(gradient, node->inputs[1]) ||
        gradient_wants(gradient, node->inputs[2])) {
        return error_set(
            err, ERROR_UNSUPPORTED,
            "a loss passes its gradient to its input 0 (the scores) alone; a trained value "
            "leads to its labels or weights, or to its output 1");
    }
    bool is_seed = is_one(gradient_builder(gradient), dy);
    gradient_add(gradient, node->inputs[0],
                 is_seed ? dx : gradient_node(gradient, OP_MUL, V(dx, dy)));
    return 0;
}
