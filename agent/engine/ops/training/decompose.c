// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/decompose.h"

#include "agent/engine/ops/rewrite/expand.h"
#include "agent/engine/ops/training/made.h"

static const struct node *maker_of(const struct graph *graph, int value) {
    for (size_t n = graph->node_count; n-- > 0;) {
        for (int i = 0; i < graph->nodes[n].output_count; i++) {
            if (graph->nodes[n].outputs[i] == value) {
                return &graph->nodes[n];
            }
        }
    }
    return NULL;
}

/* A parameter, or what a node computes; not a number of the formula, which may be a Constant node
 * behind a Cast. */
static bool is_learned(const struct graph *graph, int value) {
    const struct node *maker = value < 0 ? NULL : maker_of(graph, value);
    while (maker && (maker->op->id == OP_CAST || maker->op->id == OP_IDENTITY ||
                     maker->op->id == OP_RESHAPE || maker->op->id == OP_SQUEEZE)) {
        value = maker->inputs[0];
        maker = value < 0 ? NULL : maker_of(graph, value);
    }
    const struct value *at = value < 0 ? NULL : &graph->values[value];
    return maker || (at && at->is_constant && at->type == TENSOR_FLOAT32 && !at->is_literal &&
                     at->name && !made_by_exporter(at->name));
}

/* Bounds that are learned have a gradient: min(max(x, low), high). */
static int expand_learned_clip(struct expansion *expansion, const struct node *node, bool *ret_done,
                               struct error *err UNUSED) {
    int low = expand_input(node, 1), high = expand_input(node, 2), y = node->inputs[0];
    if (!is_learned(expansion->from, low) && !is_learned(expansion->from, high)) {
        return 0;
    }
    y = low < 0 ? y : expand_binary(expansion, OP_MAX, y, low);
    y = high < 0 ? y : expand_binary(expansion, OP_MIN, y, high);
    expand_give(expansion, 0, y);
    *ret_done = true;
    return 0;
}

/* Not BatchNormalization with training_mode: training_graph.c replaces it in every form. */
static expand_rule *const rules[OP_COUNT] = {
    [OP_ATTENTION] = expand_attention,
    [OP_CAST_LIKE] = expand_cast_like,
    [OP_CLIP] = expand_learned_clip,
    [OP_LAYER_NORMALIZATION] = expand_layer_axis,
    [OP_MAX_POOL] = expand_max_pool,
    [OP_MEAN_VARIANCE_NORMALIZATION] = expand_mean_variance,
    [OP_OLD_BINARY] = expand_old_binary,
    [OP_PAD] = expand_pad,
    [OP_RMS_NORMALIZATION] = expand_rms_normalization,
    [OP_ROTARY_EMBEDDING] = expand_rotary,
    [OP_SIMPLIFIED_LAYER_NORMALIZATION] = expand_simplified_norm,
    [OP_SWIGLU] = expand_swiglu,
    [OP_SWISH] = expand_swish,
};

int decompose(const struct graph *network, struct graph *ret_graph, struct error *err) {
    return expand_by(rules, network, ret_graph, err);
}
