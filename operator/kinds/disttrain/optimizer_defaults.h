/* optimizer_defaults.h: the defaults of spec.trainer.optimizer that depend on its kind. A
 * definition cannot have them, so they are in this table and, for people, in the fields'
 * descriptions. Pure. */
#pragma once

#include "lib/tree.h"

/* Fills in what is missing of learningRate, weightDecay, beta2 and epsilon. trainer: spec.trainer;
 * changed in place. */
void optimizer_defaults_fill(json_t *trainer);
