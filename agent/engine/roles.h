/* roles.h: which constants of a network are trained. The graph decides, before gradients are made:
 * every float32 constant on a path to the output, through whatever operators. Names are only a
 * hint, and only for single numbers. */
#pragma once

#include "agent/engine/graph.h"

/* What becomes of a constant of floating-point numbers on which the network's output depends. */
enum role {
    ROLE_VARIABLE,  /* trained */
    ROLE_FROZEN,    /* a weight that a pattern of role_options names */
    ROLE_STATISTIC, /* running mean or variance of a batch normalization */
    ROLE_LITERAL,   /* of a Constant node: written into the formula. (In a file without any
                       initializers of more than one number these are its weights.) */
    ROLE_NUMBER,    /* one number that no operator reads as its weight, and whose name is made by an
                       exporter: an epsilon, a scale, an exponent */
    ROLE_MASK,      /* holds infinities, or the largest float32: it hides what it is added to */
    ROLE_SETTING,   /* only read as an operator's setting: limits of Clip, scales of Resize, the
                       padded number; or only its shape is read */
    ROLE_COUNT
};
struct role_of_constant {
    int value;
    enum role role;
};
/* All such constants, in the order of the values. */
struct roles {
    size_t count;
    struct role_of_constant *constants;
};

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

/* Tensors with this role, and their elements. */
struct role_amount {
    size_t tensors;
    int64_t elements;
};
struct role_amount roles_amount(const struct roles *roles, const struct graph *network,
                                enum role role);
