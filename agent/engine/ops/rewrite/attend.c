// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/attend.h"

#include <math.h>

static int integers(struct expansion *expansion, const int64_t *values, int count) {
    return builder_integers(&expansion->builder, values, count);
}

static int shape_of(struct expansion *expansion, int value) {
    return expand_value(expansion, OP_SHAPE, INPUTS(value), 1, NULL);
}

int attend_dim(struct expansion *expansion, int value, int64_t axis) {
    return expand_binary(expansion, OP_GATHER, shape_of(expansion, value),
                         expand_integer(expansion, axis));
}

int attend_size(struct expansion *expansion, int value, int64_t axis) {
    return expand_binary(expansion, OP_GATHER, shape_of(expansion, value),
                         expand_typed(expansion, (double)axis, TENSOR_INT64));
}

int attend_turn(struct expansion *expansion, int x, const int64_t *perm, size_t rank) {
    int64_t *order = arena_array(&expansion->builder.graph.arena, rank, sizeof *order);
    for (size_t i = 0; i < rank; i++) {
        order[i] = perm[i];
    }
    const struct attribute by[] = {
        {.name = "perm", .kind = ATTRIBUTE_INTEGERS, .count = rank, .integers = order},
        {.name = NULL}};
    return expand_value(expansion, OP_TRANSPOSE, INPUTS(x), 1, by);
}

int attend_of_rank(struct expansion *expansion, int x, int rank) {
    static const int64_t same[] = {0, 1, 2, 3};
    int known = expand_rank(expansion, x);
    return known == rank ? x : attend_turn(expansion, x, same, (size_t)rank);
}

static const int64_t middle_swapped[] = {0, 2, 1, 3}, end_swapped[] = {0, 1, 3, 2};

int attend_divide(struct expansion *expansion, int x, int64_t heads) {
    const int64_t shape[] = {0, 0, heads, -1};
    x = attend_of_rank(expansion, x, 3);
    x = expand_binary(expansion, OP_RESHAPE, x, integers(expansion, shape, 4));
    return attend_turn(expansion, x, middle_swapped, 4);
}

int attend_join(struct expansion *expansion, int x) {
    static const int64_t shape[] = {0, 0, -1};
    x = attend_turn(expansion, x, middle_swapped, 4);
    return expand_binary(expansion, OP_RESHAPE, x, integers(expansion, shape, 3));
}

int attend_along(struct expansion *expansion, int a, int b, int64_t axis) {
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = axis},
                                      {.name = NULL}};
    return expand_value(expansion, OP_CONCAT, INPUTS(a, b), 1, along);
}

/* With numbers of float32 beside them, the scores of 16 bits become float32 (widen.c). */
enum tensor_type attend_type(struct expansion *expansion, const struct attention *a) {
    enum tensor_type type = expand_type(expansion, a->q);
    return type == TENSOR_FLOAT16 || type == TENSOR_BFLOAT16 ? TENSOR_FLOAT32 : type;
}

/* ---- masks ---------------------------------------------------------------------------------- */

int attend_hide(struct expansion *expansion, int hides, double low, enum tensor_type type) {
    return expand_value(
        expansion, OP_WHERE,
        INPUTS(hides, expand_typed(expansion, low, type), expand_typed(expansion, 0, type)), 1,
        NULL);
}

void attend_add(struct expansion *expansion, struct attention *a, int bias) {
    a->bias = a->bias < 0 ? bias : expand_binary(expansion, OP_ADD, a->bias, bias);
}

/* 0, 1, ... up to the length of x */
static int places_of(struct expansion *expansion, int x) {
    return expand_value(expansion, OP_RANGE,
                        INPUTS(expand_typed(expansion, 0, TENSOR_INT64),
                               attend_size(expansion, x, -2),
                               expand_typed(expansion, 1, TENSOR_INT64)),
                        1, NULL);
}

void attend_make_causal(struct expansion *expansion, struct attention *a, int past) {
    int rows = expand_binary(expansion, OP_UNSQUEEZE, places_of(expansion, a->q),
                             expand_integer(expansion, 1));
    rows = past < 0 ? rows : expand_binary(expansion, OP_ADD, rows, past);
    int hides = expand_binary(expansion, OP_LESS, rows, places_of(expansion, a->k));
    attend_add(expansion, a, attend_hide(expansion, hides, -INFINITY, attend_type(expansion, a)));
}

void attend_hide_after(struct expansion *expansion, struct attention *a, int counts, double low) {
    /* The first dimension is that of q: lists of another length must not be broadcast. */
    int ones = integers(expansion, (const int64_t[]){1, 1, 1}, 3);
    int shape = attend_along(expansion, attend_dim(expansion, a->q, 0), ones, 0);
    counts = expand_cast(expansion, counts, TENSOR_INT64);
    counts = expand_binary(expansion, OP_RESHAPE, counts, shape);
    int shows = expand_binary(expansion, OP_LESS, places_of(expansion, a->k), counts);
    int hides = expand_value(expansion, OP_NOT, INPUTS(shows), 1, NULL);
    attend_add(expansion, a, attend_hide(expansion, hides, low, attend_type(expansion, a)));
}

/* ---- the computation ------------------------------------------------------------------------ */

/* [images, heads, length, size] with each head repeated, to as many as q has. */
static int repeat_heads(struct expansion *expansion, int x, int q) {
    int images = attend_dim(expansion, x, 0), heads = attend_dim(expansion, x, 1);
    int length = attend_dim(expansion, x, 2), size = attend_dim(expansion, x, 3);
    int wanted = attend_dim(expansion, q, 1);
    int times = expand_binary(expansion, OP_DIV, wanted, heads);
    const struct attribute first[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = 0},
                                      {.name = NULL}};
    int wide =
        expand_value(expansion, OP_CONCAT, INPUTS(images, heads, times, length, size), 1, first);
    int shape = expand_value(expansion, OP_CONCAT, INPUTS(images, wanted, length, size), 1, first);
    x = expand_binary(expansion, OP_UNSQUEEZE, x, expand_integer(expansion, 2));
    x = expand_binary(expansion, OP_EXPAND, x, wide);
    return expand_binary(expansion, OP_RESHAPE, x, shape);
}

static int scaled(struct expansion *expansion, int scores, const struct attention *a,
                  enum tensor_type type) {
    if (a->scale != 0) {
        return expand_binary(expansion, OP_MUL, scores, expand_typed(expansion, a->scale, type));
    }
    int size = expand_cast(expansion, attend_size(expansion, a->q, -1), type);
    int root = expand_value(expansion, OP_SQRT, INPUTS(size), 1, NULL);
    return expand_binary(expansion, OP_DIV, scores, root);
}

static int capped(struct expansion *expansion, int scores, const struct attention *a,
                  enum tensor_type type) {
    if (a->softcap == 0) {
        return scores;
    }
    int limit = expand_typed(expansion, a->softcap, type);
    int part = expand_binary(expansion, OP_DIV, scores, limit);
    part = expand_value(expansion, OP_TANH, INPUTS(part), 1, NULL);
    return expand_binary(expansion, OP_MUL, part, limit);
}

void attend_compute(struct expansion *expansion, const struct attention *a,
                    struct attend_values *ret_values) {
    enum tensor_type type = attend_type(expansion, a);
    int k = a->is_grouped ? repeat_heads(expansion, a->k, a->q) : a->k;
    int v = a->is_grouped ? repeat_heads(expansion, a->v, a->q) : a->v;
    int *scores = ret_values->scores;
    k = attend_turn(expansion, k, end_swapped, 4);
    scores[0] = scaled(expansion, expand_binary(expansion, OP_MATMUL, a->q, k), a, type);
    int first = a->caps_first ? capped(expansion, scores[0], a, type) : scores[0];
    scores[1] = a->bias < 0 ? first : expand_binary(expansion, OP_ADD, first, a->bias);
    scores[2] = a->caps_first ? scores[1] : capped(expansion, scores[1], a, type);
    scores[3] = expand_value(expansion, OP_SOFTMAX, INPUTS(scores[2]), 1, NULL);
    ret_values->y = expand_binary(expansion, OP_MATMUL, scores[3], v);
}
