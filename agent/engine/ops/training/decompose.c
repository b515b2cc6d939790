// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/decompose.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/rewrite/expand.h"
#include "agent/engine/ops/training/exporter_constant.h"

#include <string.h>

enum { MOVES_MAX = 12 /* between a sample and what looks up its ids */ };

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
                     at->name && !exporter_constant_has_name(at->name));
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

/* Its output has the numbers of its first input, or of all its inputs (Concat), and no others. */
static bool moves(const struct node *node) {
    switch (node->op->id) {
    case OP_CAST:
    case OP_CONCAT:
    case OP_EXPAND:
    case OP_FLATTEN:
    case OP_GATHER:
    case OP_IDENTITY:
    case OP_RESHAPE:
    case OP_SLICE:
    case OP_SPLIT:
    case OP_SQUEEZE:
    case OP_TILE:
    case OP_TRANSPOSE:
    case OP_UNSQUEEZE:
        return true;
    default:
        return false;
    }
}

/* Whether there are numbers of a sample in it, perhaps moved. */
static bool is_of_sample(const struct graph *graph, int value, int depth) {
    const struct node *maker = value < 0 ? NULL : maker_of(graph, value);
    if (!maker || !moves(maker) || depth == 0) {
        return !maker && value >= 0 && graph->values[value].is_input;
    }
    int inputs = maker->op->id == OP_CONCAT ? maker->input_count : 1;
    for (int i = 0; i < inputs; i++) {
        if (is_of_sample(graph, maker->inputs[i], depth - 1)) {
            return true;
        }
    }
    return false;
}

static bool is_table(const struct graph *graph, int value) {
    const struct node *maker = value < 0 ? NULL : maker_of(graph, value);
    while (maker && (maker->op->id == OP_CAST || maker->op->id == OP_IDENTITY ||
                     maker->op->id == OP_TRANSPOSE)) {
        value = maker->inputs[0];
        maker = value < 0 ? NULL : maker_of(graph, value);
    }
    return value >= 0 && graph->values[value].is_constant;
}

/* Ids of a sample that select rows of a table, or are written as rows of ones and zeros: one that
 * is wrong must not become another one in silence, as it is counted from the end if it is negative.
 */
static int expand_ids(struct expansion *expansion, const struct node *node, bool *ret_done,
                      struct error *err UNUSED) {
    bool is_gather = node->op->id == OP_GATHER;
    int ids = expand_input(node, is_gather ? 1 : 0);
    if (!is_of_sample(expansion->from, ids, MOVES_MAX) ||
        (is_gather && !is_table(expansion->from, expand_input(node, 0)))) {
        return 0;
    }
    struct node strict = *node;
    size_t count = node->attribute_count;
    struct attribute *attributes =
        arena_array(&expansion->builder.graph.arena, count + 1, sizeof *attributes);
    if (count) {
        memcpy(attributes, node->attributes, count * sizeof *attributes);
    }
    attributes[count] = (struct attribute){
        .name = PARAM_ARE_IDS, .kind = ATTRIBUTE_INTEGER, .integer = 1, .text = ""};
    strict.attributes = attributes;
    strict.attribute_count = count + 1;
    builder_append(&expansion->builder, &strict);
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
    [OP_LP_NORMALIZATION] = expand_lp_normalization,
    [OP_MS_GROUP_QUERY_ATTENTION] = expand_group_query,
    EXPAND_OF_MICROSOFT,
};

/* Also in what the first rules have written. */
static expand_rule *const lookups[OP_COUNT] = {
    [OP_GATHER] = expand_ids,
    [OP_ONE_HOT] = expand_ids,
};

int decompose(const struct graph *network, struct graph *ret_graph, struct error *err) {
    struct graph formulas;
    if (expand_by(rules, network, &formulas, err) < 0) {
        return -1;
    }
    int result = expand_by(lookups, &formulas, ret_graph, err);
    if (result == 0) {
        arena_join(&ret_graph->arena, &formulas.arena);
    }
    graph_release(&formulas);
    return result;
}
