/* roles.h: finds the role of each constant (engine/training_graph.h). */
#pragma once

#include "agent/engine/training_graph.h"

struct role_options {
    const struct graph *network;
    const int *makers;         /* by value: the node that makes it; -1: none */
    const char *const *freeze; /* patterns (fnmatch) of names */
    size_t freeze_count;
};

/* Fills *ret_roles, whose list is in the arena. ERROR_INVALID: a pattern matches no constant.
 * ERROR_UNSUPPORTED: a weight that no gradient can reach, or whose type is not float32; the message
 * names the weight, the node, its operator, and what to write into spec.trainer.model.freeze. */
NODISCARD int roles_find(const struct role_options *options, struct arena *arena,
                         struct roles *ret_roles, struct error *err);
/* The constant that a value is, or of which it is a view; -1: none. */
int roles_constant_of(const struct graph *network, const int *makers, int value);
