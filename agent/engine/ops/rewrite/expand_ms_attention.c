// SPDX-License-Identifier: Apache-2.0
/* Attention of com.microsoft, as ONNX Runtime's optimizers write it. */
#include "agent/engine/ops/rewrite/attend.h"

#include <math.h>

/* Splits x along its last axis: into equal parts, or those of these sizes. */
static int split(struct expansion *expansion, int x, const int64_t *sizes, size_t count) {
    const struct attribute last[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = -1},
                                     {.name = NULL}};
    if (!sizes) {
        return expand_value(expansion, OP_SPLIT, INPUTS(x), (int)count, last);
    }
    int list = builder_integers(&expansion->builder, sizes, (int)count);
    return expand_value(expansion, OP_SPLIT, INPUTS(x, list), (int)count, last);
}

/* Its mask of integers: [images] counts keys; [images, keys] and [images, queries, keys] have 0
 * where a key is hidden, by a number that the node says. */
static int add_mask(struct expansion *expansion, const struct node *node, int mask,
                    struct attention *a, struct error *err) {
    double low = node_number(node, "mask_filter_value", -10000);
    int rank = expand_rank(expansion, mask);
    enum tensor_type type = expand_type(expansion, mask);
    if (rank == 1) {
        attend_hide_after(expansion, a, mask, low);
        return 0;
    }
    if (rank != 2 && rank != 3) {
        return error_set(err, ERROR_UNSUPPORTED,
                         rank < 0 ? "a mask is not supported whose number of dimensions is not "
                                    "known before shapes are"
                                  : "a mask of %d dimensions is not supported, one of 1 to 3 is",
                         rank);
    }
    const int64_t places[] = {1, 2};
    mask = expand_binary(expansion, OP_UNSQUEEZE, mask,
                         builder_integers(&expansion->builder, places, rank == 2 ? 2 : 1));
    int shows = expand_binary(expansion, OP_GREATER, mask, expand_typed(expansion, 0, type));
    int hides = expand_value(expansion, OP_NOT, INPUTS(shows), 1, NULL);
    attend_add(expansion, a, attend_hide(expansion, hides, low, attend_type(expansion, a)));
    return 0;
}

static int without(const struct node *node, int input, const char *name, struct error *err) {
    return expand_input(node, input) < 0
               ? 0
               : error_set(err, ERROR_UNSUPPORTED, "input %s is not supported", name);
}

/* What remains when q, k and v are there. length: of the past; -1: there is none */
static int compute(struct expansion *expansion, const struct node *node, int mask, int length,
                   struct attention *a, struct error *err) {
    if (node_integer(node, "unidirectional", 0)) {
        attend_make_causal(expansion, a, length);
    }
    if (mask >= 0 && add_mask(expansion, node, mask, a, err) < 0) {
        return -1;
    }
    struct attend_values values;
    attend_compute(expansion, a, &values);
    expand_give(expansion, 0, attend_join(expansion, values.y));
    return 0;
}

/* ---- Attention, QAttention ------------------------------------------------------------------- */

/* The products of x with the weights of q, k and v, and their bias. */
static int project(struct expansion *expansion, const struct node *node) {
    const int *in = node->inputs;
    if (node->op->id == OP_MS_ATTENTION) {
        int y = expand_binary(expansion, OP_MATMUL, in[0], in[1]);
        return expand_input(node, 2) < 0 ? y : expand_binary(expansion, OP_ADD, y, in[2]);
    }
    /* x, weights, bias, their scales, mask, their zero points, past */
    int operands[2];
    for (int i = 0; i < 2; i++) {
        int zero = expand_input(node, 6 + i);
        operands[i] = expand_cast(expansion, in[i], TENSOR_INT32);
        operands[i] = zero < 0 ? operands[i]
                               : expand_binary(expansion, OP_SUB, operands[i],
                                               expand_cast(expansion, zero, TENSOR_INT32));
    }
    int y = expand_binary(expansion, OP_MATMUL, operands[0], operands[1]);
    y = expand_cast(expansion, y, expand_type(expansion, in[2]));
    y = expand_binary(expansion, OP_MUL, y, expand_binary(expansion, OP_MUL, in[3], in[4]));
    return expand_binary(expansion, OP_ADD, y, in[2]);
}

/* past is [2, images, heads, length, size]: of k, then of v. */
static int past_of(struct expansion *expansion, int past, int which) {
    return expand_binary(expansion, OP_GATHER, past, expand_typed(expansion, which, TENSOR_INT64));
}

static void give_present(struct expansion *expansion, const struct attention *a) {
    int first = expand_integer(expansion, 0);
    int k = expand_binary(expansion, OP_UNSQUEEZE, a->k, first);
    int v = expand_binary(expansion, OP_UNSQUEEZE, a->v, first);
    expand_give(expansion, 1, attend_along(expansion, k, v, 0));
}

/* inputs: x, weights, bias, mask, past, bias of scores, length of the past */
int expand_ms_attention(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err) {
    bool is_quantized = node->op->id == OP_MS_QATTENTION;
    int mask = expand_input(node, is_quantized ? 5 : 3);
    int past = expand_input(node, is_quantized ? 8 : 4);
    int bias = is_quantized ? -1 : expand_input(node, 5);
    int64_t heads = node_integer(node, "num_heads", 0);
    size_t count;
    const int64_t *sizes = node_integers(node, "qkv_hidden_sizes", &count);
    if (!is_quantized && without(node, 6, "past_sequence_length", err) < 0) {
        return -1;
    }
    if (heads < 1 || (sizes && count != 3) || node->inputs[1] < 0) {
        return error_set(
            err, ERROR_INVALID,
            "num_heads of at least 1, three qkv_hidden_sizes and weights are expected");
    }
    int parts = split(expansion, project(expansion, node), sizes, 3);
    struct attention a = {.q = attend_divide(expansion, parts, heads),
                          .k = attend_divide(expansion, parts + 1, heads),
                          .v = attend_divide(expansion, parts + 2, heads),
                          .bias = bias,
                          .scale = node_number(node, "scale", 0)};
    if (past >= 0) {
        a.k = attend_along(expansion, past_of(expansion, past, 0), a.k, 2);
        a.v = attend_along(expansion, past_of(expansion, past, 1), a.v, 2);
    }
    int length = past < 0 ? -1 : attend_size(expansion, past, 3);
    if (compute(expansion, node, mask, length, &a, err) < 0) {
        return -1;
    }
    if (expand_gives(node, 1)) {
        give_present(expansion, &a);
    }
    *ret_done = true;
    return 0;
}

/* ---- MultiHeadAttention ---------------------------------------------------------------------- */

enum { QUERY, KEY, VALUE, BIAS, KEY_MASK, SCORE_BIAS, PAST_KEY, PAST_VALUE };

static int check(const struct node *node, struct error *err) {
    if (expand_input(node, KEY) < 0 || expand_input(node, VALUE) < 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "packed queries, keys and values in one input are not supported");
    }
    if ((expand_input(node, PAST_KEY) < 0) != (expand_input(node, PAST_VALUE) < 0)) {
        return error_set(err, ERROR_INVALID, "it has only one of past_key and past_value");
    }
    if (node_integer(node, "num_heads", 0) < 1) {
        return error_set(err, ERROR_INVALID, "num_heads of at least 1 is expected");
    }
    return without(node, 8, "past_sequence_length", err) < 0 ||
                   without(node, 9, "cache_indirection", err) < 0
               ? -1
               : 0;
}

/* q, k and v with their biases, which are in one row. Keys of four dimensions have heads. */
static void take_parts(struct expansion *expansion, const struct node *node, struct attention *a) {
    int *to[] = {&a->q, &a->k, &a->v}, biases = expand_input(node, BIAS);
    int part = biases < 0 ? -1 : split(expansion, biases, NULL, 3);
    int64_t heads = node_integer(node, "num_heads", 0);
    for (int i = 0; i < 3; i++) {
        int x = node->inputs[i];
        bool has_heads = i > 0 && expand_rank(expansion, x) == 4;
        if (has_heads) {
            *to[i] = x;
            continue;
        }
        x = part < 0 ? x : expand_binary(expansion, OP_ADD, x, part + i);
        *to[i] = attend_divide(expansion, x, heads);
    }
}

int expand_multi_head_attention(struct expansion *expansion, const struct node *node,
                                bool *ret_done, struct error *err) {
    if (check(node, err) < 0) {
        return -1;
    }
    struct attention a = {.bias = expand_input(node, SCORE_BIAS),
                          .scale = node_number(node, "scale", 0)};
    int mask = expand_input(node, KEY_MASK), past = expand_input(node, PAST_KEY);
    take_parts(expansion, node, &a);
    if (past >= 0) {
        a.k = attend_along(expansion, past, a.k, 2);
        a.v = attend_along(expansion, node->inputs[PAST_VALUE], a.v, 2);
    }
    int length = past < 0 ? -1 : attend_size(expansion, past, 2);
    if (compute(expansion, node, mask, length, &a, err) < 0) {
        return -1;
    }
    expand_give(expansion, 1, a.k);
    expand_give(expansion, 2, a.v);
    *ret_done = true;
    return 0;
}
