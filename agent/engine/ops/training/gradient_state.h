/* gradient_state.h: the state of gradient_build, shared by gradient.c, which the rules call, and
 * gradient_build.c, which calls the rules. */
#pragma once

#include "agent/engine/ops/training/gradient.h"

struct gradient {
    struct builder *builder;
    size_t value_count;      /* of the forward graph */
    int *gradients;          /* by value; -1: none yet */
    bool *wanted;            /* depends on a variable */
    const struct node *node; /* the present forward node */
};
