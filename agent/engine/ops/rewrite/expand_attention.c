// SPDX-License-Identifier: Apache-2.0
/* Attention of opsets 23 and 24. */
#include "agent/engine/ops/rewrite/attend.h"

#include <math.h>

enum { Q, K, V, MASK, PAST_K, PAST_V, KEYS };

/* The standard's mask hides where it is false, or is added. From opset 24 on it may be shorter than
 * the keys, and hides the others. */
static int bias_of(struct expansion *expansion, const struct node *node,
                   const struct attention *a) {
    int mask = node->inputs[MASK];
    if (expand_type(expansion, mask) == TENSOR_BOOL) {
        int hides = expand_value(expansion, OP_NOT, INPUTS(mask), 1, NULL);
        mask = attend_hide(expansion, hides, -INFINITY, attend_type(expansion, a));
    }
    if (node->opset < 24) {
        return mask;
    }
    int missing = expand_binary(expansion, OP_SUB, attend_dim(expansion, a->k, -2),
                                attend_dim(expansion, mask, -1));
    int pads = attend_along(expansion, expand_integer(expansion, 0), missing, 0);
    enum tensor_type type = expand_type(expansion, mask);
    return expand_newer(
        expansion, "Pad", 18,
        INPUTS(mask, pads, expand_typed(expansion, -INFINITY, type), expand_integer(expansion, -1)),
        NULL);
}

static int check(const struct node *node, struct error *err) {
    bool masks = expand_input(node, MASK) >= 0 || node_integer(node, "is_causal", 0);
    if ((expand_input(node, PAST_K) < 0) != (expand_input(node, PAST_V) < 0)) {
        return error_set(err, ERROR_INVALID, "it has only one of past_key and past_value");
    }
    if (node_number(node, "softcap", 0) != 0 && (masks || expand_input(node, KEYS) >= 0)) {
        /* Whether the cap comes before the mask depends on the version of the text. */
        return error_set(err, ERROR_UNSUPPORTED, "softcap together with a mask is not supported");
    }
    if (expand_input(node, KEYS) >= 0 &&
        (node_integer(node, "is_causal", 0) || expand_input(node, PAST_K) >= 0)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "nonpad_kv_seqlen together with is_causal or past keys is not supported");
    }
    return 0;
}

static void add_masks(struct expansion *expansion, const struct node *node, struct attention *a) {
    int past = expand_input(node, PAST_K);
    if (expand_input(node, MASK) >= 0) {
        a->bias = bias_of(expansion, node, a);
    }
    if (node_integer(node, "is_causal", 0)) {
        attend_make_causal(expansion, a, past < 0 ? -1 : attend_size(expansion, past, -2));
    }
    if (expand_input(node, KEYS) >= 0) {
        attend_hide_after(expansion, a, node->inputs[KEYS], -INFINITY);
    }
}

int expand_attention(struct expansion *expansion, const struct node *node, bool *ret_done,
                     struct error *err) {
    if (check(node, err) < 0) {
        return -1;
    }
    int64_t heads = node_integer(node, "q_num_heads", 0);
    int64_t kv_heads = node_integer(node, "kv_num_heads", heads);
    struct attention a = {.q = node->inputs[Q],
                          .k = node->inputs[K],
                          .v = node->inputs[V],
                          .bias = -1,
                          .scale = node_number(node, "scale", 0),
                          .softcap = node_number(node, "softcap", 0),
                          .is_grouped = heads == 0 || heads != kv_heads};
    if (heads) { /* three dimensions */
        a.q = attend_divide(expansion, a.q, heads);
        a.k = attend_divide(expansion, a.k, kv_heads);
        a.v = attend_divide(expansion, a.v, kv_heads);
    }
    if (expand_input(node, PAST_K) >= 0) {
        a.k = attend_along(expansion, node->inputs[PAST_K], a.k, 2);
        a.v = attend_along(expansion, node->inputs[PAST_V], a.v, 2);
    }
    add_masks(expansion, node, &a);
    struct attend_values values;
    attend_compute(expansion, &a, &values);
    expand_give(expansion, 0, heads ? attend_join(expansion, values.y) : values.y);
    expand_give(expansion, 1, a.k);
    expand_give(expansion, 2, a.v);
    expand_give(expansion, 3, values.scores[node_integer(node, "qk_matmul_output_mode", 0)]);
    *ret_done = true;
    return 0;
}
