/* optimizer_step.h: the internal operator that moves one parameter by its gradient, so that weights
 * and an optimizer's vectors stay where a device has them (agent/train/optimizer.h has the
 * formulas). Elementwise but for LARS' two sums: outputs may be in the memory of inputs.
 *
 *   OptimizerStep (w, g, numbers[, v | m, s]) -> w'[, v' | m', s'].  All of one shape, [count];
 *                 numbers float32 [OPTIMIZER_NUMBERS], below. Attributes: kind, an enum
 *                 optimizer_step_kind; decay; trust, LARS' factor of |w| / |g|, 0 for none
 *
 * What changes from step to step is an input, so that one prepared graph holds for all steps. */
#pragma once

#include "agent/engine/training.h"

/* How many vectors a kind keeps. */
int optimizer_step_states(enum optimizer_step_kind kind);

NODISCARD int infer_optimizer_step(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
