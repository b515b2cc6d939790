/* refuse.h: refuses a network whose weights cannot all be trained, by name and with the way out. */
#pragma once

#include "agent/engine/graph.h"

struct refuse_scope {
    const struct graph *network;
    const int *makers;    /* by value: the node that makes it; -1: none */
    const int *variables; /* values */
    size_t count;
};

/* ERROR_UNSUPPORTED: names the first operator whose output's shape only the run knows (If, Loop,
 * NonZero), if the outputs depend on one. */
NODISCARD int refuse_late(const struct graph *network, struct error *err);
/* ERROR_UNSUPPORTED if the gradients of variables would have to go through operators without a
 * rule. The message names the last such node, and all variables before such nodes as what to write
 * into spec.trainer.model.freeze. */
NODISCARD int refuse_operators(const struct refuse_scope *scope, struct error *err);
/* Always ERROR_UNSUPPORTED: no rule gave this weight a gradient. */
NODISCARD int refuse_weight(const struct graph *network, int variable, struct error *err);
