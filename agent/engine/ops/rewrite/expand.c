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
    [OP_LP_NORMALIZATION] = expand_lp_normalization,
    [OP_LP_POOL] = expand_lp_pool,
    [OP_GLOBAL_LP_POOL] = expand_global_lp_pool,
    [OP_MS_DEQUANTIZE_LINEAR] = expand_ms_quantize,
    [OP_MS_DYNAMIC_QUANTIZE_MATMUL] = expand_dynamic_quantize_matmul,
    [OP_MS_FUSED_CONV] = expand_fused_conv,
    [OP_MS_FUSED_GEMM] = expand_fused_gemm,
    [OP_MS_MATMUL_INTEGER_TO_FLOAT] = expand_matmul_integer_to_float,
    [OP_MS_QGEMM] = expand_qgemm,
    [OP_MS_QLINEAR_ADD] = expand_qlinear_binary,
    [OP_MS_QLINEAR_AVERAGE_POOL] = expand_qlinear_unary,
    [OP_MS_QLINEAR_CONCAT] = expand_qlinear_concat,
    [OP_MS_QLINEAR_GLOBAL_AVERAGE_POOL] = expand_qlinear_unary,
    [OP_MS_QLINEAR_LEAKY_RELU] = expand_qlinear_unary,
    [OP_MS_QLINEAR_MUL] = expand_qlinear_binary,
    [OP_MS_QLINEAR_SIGMOID] = expand_qlinear_unary,
    [OP_MS_QLINEAR_SOFTMAX] = expand_qlinear_unary,
    [OP_MS_QLINEAR_WHERE] = expand_qlinear_where,
    [OP_MS_QUANTIZE_LINEAR] = expand_ms_quantize,
    [OP_MS_GROUP_QUERY_ATTENTION] = expand_group_query,
    [OP_MS_MATMUL_BITS] = expand_matmul_bits,
    [OP_MS_QATTENTION] = expand_ms_attention,
    EXPAND_OF_MICROSOFT,
};

int rewrite_expand(const struct graph *from, struct graph *ret_graph, struct error *err) {
    return expand_by(all_rules, from, ret_graph, err);
}

static expand_rule *const whole_rules[OP_COUNT] = {
    [OP_CAST] = expand_whole_cast,
    [OP_CONV] = expand_whole_layer,
    [OP_DEQUANTIZE_LINEAR] = expand_whole_dequantize,
    [OP_GEMM] = expand_whole_layer,
    [OP_MATMUL] = expand_whole_layer,
};

int rewrite_whole(const struct graph *from, struct graph *ret_graph, struct error *err) {
    return expand_by(whole_rules, from, ret_graph, err);
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
            expand_wholes_release(&expansion);
            return error_context(err, "%s node \"%.64s\"", node->op->name, node->name);
        }
        if (!is_done) {
            builder_append(&expansion.builder, node);
        }
    }
    expand_facts_release(&expansion);
    expand_wholes_release(&expansion);
    builder_take(&expansion.builder, ret_graph);
    return 0;
}
