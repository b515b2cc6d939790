// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/expand.h"

#include "agent/engine/ops/table.h"

/* By operator. A rule that does not apply returns 0 and sets nothing; then the node stays. */
static expand_rule *const all_rules[OP_COUNT] = {
    [OP_ATTENTION] = expand_attention,
    [OP_BATCH_NORMALIZATION] = expand_batch_normalization,
    [OP_CONV_INTEGER] = expand_conv_integer,
    [OP_DROPOUT] = expand_old_dropout,
    [OP_DYNAMIC_QUANTIZE] = expand_dynamic_quantize,
    [OP_MATMUL_INTEGER] = expand_matmul_integer,
    [OP_MAX_POOL] = expand_max_pool,
    [OP_MEAN_VARIANCE_NORMALIZATION] = expand_mean_variance,
    [OP_OLD_BINARY] = expand_old_binary,
    [OP_PAD] = expand_pad,
    [OP_QLINEAR_CONV] = expand_qlinear_conv,
    [OP_QLINEAR_MATMUL] = expand_qlinear_matmul,
    [OP_RMS_NORMALIZATION] = expand_rms_normalization,
    [OP_ROTARY_EMBEDDING] = expand_rotary,
    [OP_SIMPLIFIED_LAYER_NORMALIZATION] = expand_simplified_norm,
    [OP_SWIGLU] = expand_swiglu,
    [OP_SWISH] = expand_swish,
    [OP_MS_GROUP_QUERY_ATTENTION] = expand_group_query,
    [OP_MS_MATMUL_BITS] = expand_matmul_bits,
    [OP_MS_QATTENTION] = expand_ms_attention,
    EXPAND_OF_MICROSOFT,
};

int rewrite_expand(const struct graph *from, struct graph *ret_graph, struct error *err) {
    return expand_by(all_rules, from, ret_graph, err);
}

int expand_by(expand_rule *const *rules, const struct graph *from, struct graph *ret_graph,
              struct error *err) {
    struct expansion expansion = {.from = from};
    builder_init(&expansion.builder, from);
    builder_clear_nodes(&expansion.builder);
    for (size_t i = 0; i < from->node_count; i++) {
        const struct node *node = &from->nodes[i];
        expand_rule *rule = rules[node->op->id];
        bool is_done = false;
        expansion.node = node;
        if (rule && rule(&expansion, node, &is_done, err) < 0) {
            builder_release(&expansion.builder);
            expand_facts_release(&expansion);
            return error_context(err, "%s node \"%.64s\"", node->op->name, node->name);
        }
        if (!is_done) {
            builder_append(&expansion.builder, node);
        }
    }
    expand_facts_release(&expansion);
    builder_take(&expansion.builder, ret_graph);
    return 0;
}
