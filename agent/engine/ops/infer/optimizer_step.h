/* optimizer_step.h: the internal operator that moves one parameter by its gradient, so that weights
 * and an optimizer's vectors stay where a device has them (agent/train/optimizer.h has the
 * formulas). Elementwise but for LARS' two sums: outputs may lie in the memory of inputs.
 *
 *   OptimizerStep (w, g, numbers[, v | m, s]) -> w'[, v' | m', s'].  All of one shape, [count];
 *                 numbers float32 [OPTIMIZER_NUMBERS], below. Attributes: kind, an enum
 *                 optimizer_step_kind; decay; trust, LARS' factor of |w| / |g|, 0 for none
 *
 * What changes from step to step is an input, so that one prepared graph holds for all steps. */
#pragma once

#include "agent/engine/graph/graph.h"

enum optimizer_step_kind {
    OPTIMIZER_STEP_PLAIN,    /* w -= rate d;  d = g + decay w */
    OPTIMIZER_STEP_MOMENTUM, /* v = first v + d;  w -= rate v; LARS: d times its ratio */
    OPTIMIZER_STEP_NESTEROV, /* likewise;  w -= rate (d + first v) */
    OPTIMIZER_STEP_ADAM      /* m = first m + rest_first d;  s = second s + rest_second d^2;
                                w -= rate m / (sqrt(s) unbias + epsilon) */
};

enum optimizer_number {
    OPTIMIZER_RATE, /* of Adam: divided by 1 - beta1^step */
    OPTIMIZER_FIRST,
    OPTIMIZER_REST_FIRST,
    OPTIMIZER_SECOND,
    OPTIMIZER_REST_SECOND,
    OPTIMIZER_UNBIAS,
    OPTIMIZER_EPSILON,
    OPTIMIZER_NUMBERS
};

/* How many vectors a kind keeps. */
int optimizer_step_states(enum optimizer_step_kind kind);

NODISCARD int infer_optimizer_step(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
