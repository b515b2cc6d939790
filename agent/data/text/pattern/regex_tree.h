/* regex_tree.h: a pattern as a tree, on its way from text (regex_parse.c) to a program
 * (regex_compile.c). Not thread-safe. */
#pragma once

#include "agent/data/text/pattern/regex.h"
#include "agent/data/text/pattern/regex_code.h"

enum regex_kind {
    REGEX_NODE_EMPTY,
    REGEX_NODE_CHARACTER, /* value */
    REGEX_NODE_FOLDED,    /* the same */
    REGEX_NODE_SET,       /* value: its place */
    REGEX_NODE_ANCHOR,    /* value: enum regex_op */
    REGEX_NODE_ALL,       /* left, then right */
    REGEX_NODE_EITHER,    /* left, else right */
    REGEX_NODE_REPEAT,    /* left, min to max times; max -1: any number */
    REGEX_NODE_WITHIN,    /* left, within value: REGEX_AHEAD, REGEX_NOT_AHEAD, REGEX_ATOMIC */
};

struct regex_node {
    enum regex_kind kind;
    int32_t value, left, right, min, max;
    bool is_lazy;
};

enum { REGEX_NODES_MAX = 4096, REGEX_REPEAT_MAX = 1000 };

struct regex_tree {
    struct regex_node nodes[REGEX_NODES_MAX];
    size_t count;
};

/* Makes the program of the node, behind what there is. */
NODISCARD int regex_compile(const struct regex_tree *tree, int32_t node, struct regex *regex,
                            struct error *err);
