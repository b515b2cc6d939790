// SPDX-License-Identifier: Apache-2.0
/* Rotary embeddings: pairs of numbers of a head are turned by the angle of their place. */
#include "agent/engine/ops/rewrite/attend.h"

/* x[..., from:to:step] */
static int part(struct expansion *expansion, int x, int64_t from, int64_t to, int64_t step) {
    return expand_value(expansion, OP_SLICE,
                        INPUTS(x, expand_integer(expansion, from), expand_integer(expansion, to),
                               expand_integer(expansion, -1), expand_integer(expansion, step)),
                        1, NULL);
}

static void take_halves(struct expansion *expansion, const struct rotary *r, int x, int *a,
                        int *b) {
    const struct attribute last[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = -1},
                                     {.name = NULL}};
    if (r->is_interleaved) {
        *a = part(expansion, x, 0, INT64_MAX, 2);
        *b = part(expansion, x, 1, INT64_MAX, 2);
    } else {
        *a = expand_value(expansion, OP_SPLIT, INPUTS(x), 2, last);
        *b = *a + 1;
    }
}

static int join_halves(struct expansion *expansion, const struct rotary *r, int a, int b) {
    static const int64_t flat[] = {0, 0, 0, -1};
    if (!r->is_interleaved) {
        return attend_along(expansion, a, b, -1);
    }
    a = expand_binary(expansion, OP_UNSQUEEZE, a, expand_integer(expansion, -1));
    b = expand_binary(expansion, OP_UNSQUEEZE, b, expand_integer(expansion, -1));
    return expand_binary(expansion, OP_RESHAPE, attend_along(expansion, a, b, -1),
                         builder_integers(&expansion->builder, flat, 4));
}

int rotary_turn(struct expansion *expansion, const struct rotary *r) {
    int x = r->turned ? part(expansion, r->x, 0, r->turned, 1) : r->x, a, b;
    take_halves(expansion, r, x, &a, &b);
    int first = expand_binary(expansion, OP_SUB, expand_binary(expansion, OP_MUL, a, r->cos),
                              expand_binary(expansion, OP_MUL, b, r->sin));
    int second = expand_binary(expansion, OP_ADD, expand_binary(expansion, OP_MUL, a, r->sin),
                               expand_binary(expansion, OP_MUL, b, r->cos));
    x = join_halves(expansion, r, first, second);
    return r->turned
               ? attend_along(expansion, x, part(expansion, r->x, r->turned, INT64_MAX, 1), -1)
               : x;
}

int rotary_angles(struct expansion *expansion, int table, int places, int64_t axis) {
    int rows = places < 0 ? attend_of_rank(expansion, table, 3)
                          : expand_binary(expansion, OP_GATHER, attend_of_rank(expansion, table, 2),
                                          attend_of_rank(expansion, places, 2));
    return expand_binary(expansion, OP_UNSQUEEZE, rows, expand_integer(expansion, axis));
}

static int check(const struct node *node, int rank, struct error *err) {
    int64_t turned = node_integer(node, "rotary_embedding_dim", 0);
    if (rank != 3 && rank != 4) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "an input of %d dimensions, or of a number of them that is not known and "
                         "no num_heads, is not supported: 3 or 4 are expected",
                         rank);
    }
    if (rank == 3 && node_integer(node, "num_heads", 0) == 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "an input of 3 dimensions needs the attribute num_heads");
    }
    return turned % 2 == 0 ? 0
                           : error_set(err, ERROR_INVALID,
                                       "rotary_embedding_dim %lld: an even number is expected",
                                       (long long)turned);
}

/* The standard's inputs: x, cos, sin, places; com.microsoft's: x, places, cos, sin. */
int expand_rotary(struct expansion *expansion, const struct node *node, bool *ret_done,
                  struct error *err) {
    static const int64_t flat[] = {0, 0, -1};
    bool is_standard = node->op->id == OP_ROTARY_EMBEDDING;
    int64_t heads = node_integer(node, "num_heads", 0);
    int x = node->inputs[0], rank = expand_rank(expansion, x);
    rank = rank < 0 && heads ? 3 : rank;
    if (check(node, rank, err) < 0) {
        return -1;
    }
    struct rotary r = {.turned = node_integer(node, "rotary_embedding_dim", 0),
                       .is_interleaved = node_integer(node, "interleaved", 0)};
    int places = is_standard ? expand_input(node, 3) : node->inputs[1];
    const int64_t divided[] = {0, 0, heads, -1};
    r.x = attend_of_rank(expansion, x, rank);
    r.x = rank == 4 ? r.x
                    : expand_binary(expansion, OP_RESHAPE, r.x,
                                    builder_integers(&expansion->builder, divided, 4));
    r.cos = rotary_angles(expansion, node->inputs[is_standard ? 1 : 2], places, rank == 4 ? 1 : 2);
    r.sin = rotary_angles(expansion, node->inputs[is_standard ? 2 : 3], places, rank == 4 ? 1 : 2);
    int y = rotary_turn(expansion, &r);
    expand_give(expansion, 0,
                rank == 4 ? y
                          : expand_binary(expansion, OP_RESHAPE, y,
                                          builder_integers(&expansion->builder, flat, 3)));
    *ret_done = true;
    return 0;
}
