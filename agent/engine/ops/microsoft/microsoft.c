// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/microsoft/microsoft.h"

#include "agent/engine/ops/attribute_rules.h"
#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/op_id.h"

#include <string.h>

static const struct op rows[] = {
    {OP_MS_ATTENTION, "Attention", 1, 1, 2, 7, 2, "*", ms_attention_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_BIAS_GELU, "BiasGelu", 1, 1, 2, 2, 1, "r", NULL, infer_expanded, OP_MICROSOFT},
    {OP_MS_EMBED_LAYER_NORMALIZATION, "EmbedLayerNormalization", 1, 1, 1, 9, 3, "*",
     embed_layer_norm_rules, infer_expanded, OP_MICROSOFT},
    {OP_MS_FAST_GELU, "FastGelu", 1, 1, 1, 2, 1, "r", NULL, infer_expanded, OP_MICROSOFT},
    {OP_MS_FUSED_MATMUL, "FusedMatMul", 1, 1, 2, 2, 1, "r", fused_matmul_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_FUSED_MATMUL, "TransposeMatMul", 1, 1, 2, 2, 1, "r", fused_matmul_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_GELU, "Gelu", 1, 1, 1, 1, 1, "r", NULL, infer_expanded, OP_MICROSOFT},
    {OP_MS_GROUP_QUERY_ATTENTION, "GroupQueryAttention", 1, 1, 1, 14, 3, "*", group_query_rules,
     infer_expanded, OP_MICROSOFT},
    {OP_MS_MATMUL_BITS, "MatMulNBits", 1, 1, 3, 6, 1, "*", matmul_bits_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_MULTI_HEAD_ATTENTION, "MultiHeadAttention", 1, 1, 1, 10, 3, "*",
     multi_head_attention_rules, infer_expanded, OP_MICROSOFT},
    {OP_MS_QATTENTION, "QAttention", 1, 1, 5, 9, 2, "*", ms_attention_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_DEQUANTIZE_LINEAR, "DequantizeLinear", 1, 1, 2, 3, 1, "*", axis_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_DYNAMIC_QUANTIZE_MATMUL, "DynamicQuantizeMatMul", 1, 1, 3, 5, 1, "*", NULL,
     infer_expanded, OP_MICROSOFT},
    {OP_MS_FUSED_CONV, "FusedConv", 1, 1, 2, 4, 1, "*", fused_conv_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_FUSED_GEMM, "FusedGemm", 1, 1, 2, 3, 1, "*", fused_gemm_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_MATMUL_INTEGER_TO_FLOAT, "MatMulIntegerToFloat", 1, 1, 4, 7, 1, "*", NULL,
     infer_expanded, OP_MICROSOFT},
    {OP_MS_QGEMM, "QGemm", 1, 1, 6, 9, 1, "*", qgemm_rules, infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_ADD, "QLinearAdd", 1, 1, 7, 8, 1, "*", NULL, infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_AVERAGE_POOL, "QLinearAveragePool", 1, 1, 4, 5, 1, "*",
     qlinear_average_pool_rules, infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_CONCAT, "QLinearConcat", 1, 1, 5, NODE_PORTS_MAX, 1, "*", axis_rules,
     infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_GLOBAL_AVERAGE_POOL, "QLinearGlobalAveragePool", 1, 1, 4, 5, 1, "*",
     channels_last_rules, infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_LEAKY_RELU, "QLinearLeakyRelu", 1, 1, 4, 5, 1, "*", alpha_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_QLINEAR_MUL, "QLinearMul", 1, 1, 7, 8, 1, "*", NULL, infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_SIGMOID, "QLinearSigmoid", 1, 1, 4, 5, 1, "*", NULL, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_QLINEAR_SOFTMAX, "QLinearSoftmax", 1, 1, 4, 5, 1, "*", qlinear_softmax_rules,
     infer_expanded, OP_MICROSOFT},
    {OP_MS_QLINEAR_WHERE, "QLinearWhere", 1, 1, 9, 9, 1, "*", NULL, infer_expanded, OP_MICROSOFT},
    {OP_MS_QUANTIZE_LINEAR, "QuantizeLinear", 1, 1, 2, 3, 1, "*", axis_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_QUICK_GELU, "QuickGelu", 1, 1, 1, 1, 1, "r", alpha_rules, infer_expanded, OP_MICROSOFT},
    {OP_MS_ROTARY_EMBEDDING, "RotaryEmbedding", 1, 1, 4, 4, 1, "*", ms_rotary_rules, infer_expanded,
     OP_MICROSOFT},
    {OP_MS_SKIP_LAYER_NORMALIZATION, "SkipLayerNormalization", 1, 1, 3, 5, 4, "r", epsilon_rules,
     infer_expanded, OP_MICROSOFT},
    {OP_MS_SKIP_RMS_NORMALIZATION, "SkipSimplifiedLayerNormalization", 1, 1, 3, 4, 4, "r",
     epsilon_rules, infer_expanded, OP_MICROSOFT},
};

const struct op *microsoft_find(const char *name, int version) {
    size_t at = 0;
    while (at < ARRAY_LEN(rows) && strcmp(rows[at].name, name) != 0) {
        at++;
    }
    return at < ARRAY_LEN(rows) && version == MICROSOFT_VERSION_MAX ? &rows[at] : NULL;
}
