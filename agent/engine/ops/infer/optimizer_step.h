/* optimizer_step.h: the internal operator that updates one parameter by its gradient, so that
 * weights and the optimizer's vectors stay in device memory (agent/train/optimizer/optimizer.h has
 * the formulas). It is elementwise, except for the two sums of LARS and LAMB, so outputs may share
 * the memory of inputs.
 *
 *   OptimizerStep (w, g, numbers[, v | m, s]) -> w'[, v' | m', s'].  All of one shape, [count];
 *                 numbers float32 [OPTIMIZER_NUMBERS]. Attributes: kind, an enum
 *                 optimizer_step_kind; decay, decoupled_decay, factor, trust of struct
 *                 optimizer_step
 *   GlobalNorm    (x) -> norm [1]: sqrt of the sum of the squares, in double precision, with the
 *                 same bits for any number of threads
 *
 * Numbers that change from step to step are an input, so that one prepared graph is valid for all
 * steps. */
#pragma once

#include "agent/engine/graph/node.h"
#include "agent/engine/training.h"

/* The number of vectors of a kind. */
int optimizer_step_states(enum optimizer_step_kind kind);

NODISCARD int infer_global_norm(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err);
NODISCARD int infer_optimizer_step(const struct node *node, const struct fact *const *inputs,
                                   struct fact *outputs, struct error *err);
