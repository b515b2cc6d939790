// SPDX-License-Identifier: Apache-2.0
/* The tree of a pattern -> the program that the matcher runs. */
#include "agent/data/text/pattern/regex_tree.h"

enum { VISITS_MAX = 8 * REGEX_CODE_MAX };

struct compiling {
    const struct regex_tree *tree;
    struct regex *regex;
    int visits; /* of nodes, some of which make no instruction */
};

static int refuse(struct error *err) {
    return error_set(err, ERROR_UNSUPPORTED, "the pattern is too long, written out");
}

static int emit(struct compiling *compiling, struct regex_step step, struct error *err) {
    struct regex *regex = compiling->regex;
    if (regex->count == REGEX_CODE_MAX) {
        return refuse(err);
    }
    if ((regex->count & (regex->count - 1)) == 0) {
        regex->code =
            x_realloc_array(regex->code, regex->count ? 2 * regex->count : 1, sizeof *regex->code);
    }
    regex->code[regex->count++] = step;
    return 0;
}

static int32_t here(const struct compiling *compiling) {
    return (int32_t)compiling->regex->count;
}

static bool may_be_empty(const struct regex_tree *tree, int32_t place) {
    const struct regex_node *node = &tree->nodes[place];
    switch (node->kind) {
    case REGEX_NODE_CHARACTER:
    case REGEX_NODE_FOLDED:
    case REGEX_NODE_SET:
        return false;
    case REGEX_NODE_ALL:
        return may_be_empty(tree, node->left) && may_be_empty(tree, node->right);
    case REGEX_NODE_EITHER:
        return may_be_empty(tree, node->left) || may_be_empty(tree, node->right);
    case REGEX_NODE_REPEAT:
        return node->min == 0 || may_be_empty(tree, node->left);
    case REGEX_NODE_WITHIN:
        return node->value != REGEX_ATOMIC || may_be_empty(tree, node->left);
    default:
        return true;
    }
}

static int compile(struct compiling *compiling, int32_t place, struct error *err);

/* A choice between the next step and another one, which set_other names. */
static int emit_choice(struct compiling *compiling, int32_t *ret_split, struct error *err) {
    *ret_split = here(compiling);
    return emit(compiling, (struct regex_step){REGEX_SPLIT, *ret_split + 1, -1, 0}, err);
}

static void set_other(struct compiling *compiling, int32_t split, int32_t other, bool is_lazy) {
    struct regex_step *step = &compiling->regex->code[split];
    step->b = other;
    if (is_lazy) {
        step->b = step->a;
        step->a = other;
    }
}

static int compile_either(struct compiling *compiling, const struct regex_node *node,
                          struct error *err) {
    int32_t split, jump;
    if (emit_choice(compiling, &split, err) < 0 || compile(compiling, node->left, err) < 0) {
        return -1;
    }
    jump = here(compiling);
    if (emit(compiling, (struct regex_step){REGEX_JUMP, 0, 0, 0}, err) < 0) {
        return -1;
    }
    set_other(compiling, split, here(compiling), false);
    if (compile(compiling, node->right, err) < 0) {
        return -1;
    }
    compiling->regex->code[jump].a = here(compiling);
    return 0;
}

/* The part of a repetition that need not be there. */
static int compile_rest(struct compiling *compiling, const struct regex_node *node,
                        struct error *err) {
    int32_t split;
    if (node->max < 0) {
        if (may_be_empty(compiling->tree, node->left)) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "an unlimited repetition of what may be empty is not supported");
        }
        if (emit_choice(compiling, &split, err) < 0 || compile(compiling, node->left, err) < 0 ||
            emit(compiling, (struct regex_step){REGEX_JUMP, split, 0, 0}, err) < 0) {
            return -1;
        }
        set_other(compiling, split, here(compiling), node->is_lazy);
        return 0;
    }
    int32_t last = -1; /* choice, of which each has the one before as its other step until then */
    for (int32_t i = node->min; i < node->max; i++) { /* each within the one before */
        if (emit_choice(compiling, &split, err) < 0) {
            return -1;
        }
        compiling->regex->code[split].b = last;
        last = split;
        if (compile(compiling, node->left, err) < 0) {
            return -1;
        }
    }
    while (last >= 0) {
        split = last;
        last = compiling->regex->code[split].b;
        set_other(compiling, split, here(compiling), node->is_lazy);
    }
    return 0;
}

static int compile_repeat(struct compiling *compiling, const struct regex_node *node,
                          struct error *err) {
    const struct regex_node *what = &compiling->tree->nodes[node->left];
    if (what->kind == REGEX_NODE_SET && !node->is_lazy) {
        int32_t most = node->max < 0 ? INT32_MAX : node->max;
        return emit(compiling, (struct regex_step){REGEX_RUN, what->value, most, node->min}, err);
    }
    for (int32_t i = 0; i < node->min; i++) {
        if (compile(compiling, node->left, err) < 0) {
            return -1;
        }
    }
    return compile_rest(compiling, node, err);
}

static int compile_within(struct compiling *compiling, const struct regex_node *node,
                          struct error *err) {
    int32_t start = here(compiling);
    if (emit(compiling, (struct regex_step){(enum regex_op)node->value, 0, 0, 0}, err) < 0 ||
        compile(compiling, node->left, err) < 0 ||
        emit(compiling, (struct regex_step){REGEX_MATCH, 0, 0, 0}, err) < 0) {
        return -1;
    }
    compiling->regex->code[start].a = here(compiling);
    return 0;
}

static int compile(struct compiling *compiling, int32_t place, struct error *err) {
    const struct regex_node *node = &compiling->tree->nodes[place];
    if (++compiling->visits > VISITS_MAX) {
        return refuse(err);
    }
    switch (node->kind) {
    case REGEX_NODE_EMPTY:
        return 0;
    case REGEX_NODE_CHARACTER:
        return emit(compiling, (struct regex_step){REGEX_CHARACTER, node->value, 0, 0}, err);
    case REGEX_NODE_FOLDED:
        return emit(compiling, (struct regex_step){REGEX_FOLDED, node->value, 0, 0}, err);
    case REGEX_NODE_SET:
        return emit(compiling, (struct regex_step){REGEX_SET, node->value, 0, 0}, err);
    case REGEX_NODE_ANCHOR:
        return emit(compiling, (struct regex_step){(enum regex_op)node->value, 0, 0, 0}, err);
    case REGEX_NODE_ALL:
        return compile(compiling, node->left, err) < 0 ? -1 : compile(compiling, node->right, err);
    case REGEX_NODE_EITHER:
        return compile_either(compiling, node, err);
    case REGEX_NODE_REPEAT:
        return compile_repeat(compiling, node, err);
    case REGEX_NODE_WITHIN:
    default:
        return compile_within(compiling, node, err);
    }
}

int regex_compile(const struct regex_tree *tree, int32_t node, struct regex *regex,
                  struct error *err) {
    struct compiling compiling = {.tree = tree, .regex = regex};
    return compile(&compiling, node, err) < 0
               ? -1
               : emit(&compiling, (struct regex_step){REGEX_MATCH, 0, 0, 0}, err);
}
