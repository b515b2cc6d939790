/* expand.h: operators that are replaced by others before a graph is run (rewrite.h). A rule appends
 * ordinary nodes in place of a node, and they make its outputs. No intermediate is larger than the
 * larger of inputs and outputs. If a caller infers shapes without expanding, such as training, the
 * operator is refused by name (infer_expanded). */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/ops/table.h"

/* ---- for rules: expand_nodes.c ---- */

struct expansion {
    struct builder builder;
    const struct graph *from;
    const struct node *node;   /* the one to expand */
    struct value_facts *facts; /* expand_facts.c: of the first values; owned */
    size_t fact_count, fact_room, facts_of_nodes;
    int64_t constant_elements, weight_elements; /* expand_quantized.c */
    int *wholes;                                /* expand_whole.c: by value; -1: none; owned */
    size_t whole_count;
};

/* *ret_done stays false if the rule does not change the node. */
typedef int expand_rule(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err);

/* Appends a new node, named after the one that is expanded. Returns its first output; the indices
 * of further outputs follow. Inputs end with -2; attributes (NULL: none) with a NULL name. */
int expand_value(struct expansion *expansion, enum op_id id, const int *inputs, int output_count,
                 const struct attribute *attributes);
int expand_binary(struct expansion *expansion, enum op_id id, int a, int b);
int expand_number(struct expansion *expansion, float number);
int expand_integer(struct expansion *expansion, int64_t integer); /* int64 [1] */
/* A number of this type, with no dimension. */
int expand_typed(struct expansion *expansion, double number, enum tensor_type type);
int expand_cast(struct expansion *expansion, int value, enum tensor_type type);
/* An operator that is newer than BUILDER_OPSET, with one output. attribute NULL: none. */
int expand_newer(struct expansion *expansion, const char *name, int opset, const int *inputs,
                 const struct attribute *attribute);
/* The node's input, -1 if it has none there; and whether it gives this output. */
int expand_input(const struct node *node, int index);
bool expand_gives(const struct node *node, int output);
/* The constant that the value is, borrowed until values are added; NULL: it is not one. */
const struct tensor *expand_constant(const struct expansion *expansion, int value);
/* Appends the same node with another operator and all its outputs. */
void expand_as(struct expansion *expansion, enum op_id id);
/* Makes this value the node's output, if the node has that output. */
void expand_give(struct expansion *expansion, int output, int value);

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

/* ---- what is known about a value without shapes: expand_facts.c ---- */

enum tensor_type expand_type(struct expansion *expansion, int value);
/* -1: not known */
int expand_rank(struct expansion *expansion, int value);
void expand_facts_release(struct expansion *expansion);

/* Replaces each node whose operator has a rule (by op id; NULL: none) in a copy of the graph. */
NODISCARD int expand_by(expand_rule *const *rules, const struct graph *from,
                        struct graph *ret_graph, struct error *err);

/* ---- the rules: expand_rules.c ---- */

/* With training_mode 1, where the statistics are those of the batch. */
expand_rule expand_batch_normalization;
/* Before opset 7 the attribute axis aligns the second operand, if broadcast is 1. */
expand_rule expand_old_binary;
expand_rule expand_mean_variance;
/* LayerNormalization with its axis counted from the end, if the rank of its input is known. */
expand_rule expand_layer_axis;
/* A Cast to the type that is known before a run. */
expand_rule expand_cast_like;
/* Devices do not implement pools that also return the indices of maxima. */
expand_rule expand_max_pool;
/* Devices do not implement padding that wraps around. */
expand_rule expand_pad;
/* UNSUPPORTED: an axis counted from the start whose place from the end is not known. */
expand_rule expand_rms_normalization;

/* expand_microsoft.c */
expand_rule expand_swish, expand_swiglu, expand_ms_gelu, expand_skip_norm, expand_embed_layer_norm,
    expand_fused_matmul, expand_matmul_bits;
/* Rows of a table of rules: those of com.microsoft that are trained, too. */
#define EXPAND_OF_MICROSOFT                                                                        \
    [OP_MS_ATTENTION] = expand_ms_attention, [OP_MS_BIAS_GELU] = expand_ms_gelu,                   \
    [OP_MS_EMBED_LAYER_NORMALIZATION] = expand_embed_layer_norm,                                   \
    [OP_MS_FAST_GELU] = expand_ms_gelu, [OP_MS_FUSED_MATMUL] = expand_fused_matmul,                \
    [OP_MS_GELU] = expand_ms_gelu, [OP_MS_MULTI_HEAD_ATTENTION] = expand_multi_head_attention,     \
    [OP_MS_QUICK_GELU] = expand_swish, [OP_MS_ROTARY_EMBEDDING] = expand_rotary,                   \
    [OP_MS_SKIP_LAYER_NORMALIZATION] = expand_skip_norm,                                           \
    [OP_MS_SKIP_RMS_NORMALIZATION] = expand_skip_norm
/* UNSUPPORTED: something reads the mask of a Dropout before opset 10. */
expand_rule expand_old_dropout;

/* expand_attention.c, expand_rotary.c, expand_ms_attention.c, expand_group_query.c. UNSUPPORTED: a
 * form that is not built, or that depends on a number of dimensions that is not known. */
expand_rule expand_attention, expand_rotary, expand_ms_attention, expand_multi_head_attention,
    expand_group_query;
/* The norm by the mean square, over the last axis. */
expand_rule expand_simplified_norm;

/* expand_quantized.c */
expand_rule expand_conv_integer, expand_dynamic_quantize, expand_matmul_integer,
    expand_qlinear_conv, expand_qlinear_matmul;
/* The product of a minus its zero point and b minus its own, as float32 (expand_quantized.c); a
 * zero point may be -1. */
int expand_integer_product(struct expansion *expansion, int a, int a_zero, int b, int b_zero);
/* Quantizes x to uint8: its range, extended to include 0, is divided into 255 steps. If all
 * elements are 0, the step is 1 instead of 0, as in ONNX Runtime. Returns the integers, the scale
 * and the zero point. */
void expand_dynamic_parts(struct expansion *expansion, int x, int ret_parts[3]);

/* Whether there is room for one more copy of weights: nodes that share them have one each, and a
 * small file could use much memory. */
bool expand_has_room(struct expansion *expansion, const struct tensor *weights);

/* expand_whole.c */
expand_rule expand_whole_cast, expand_whole_dequantize, expand_whole_layer;
void expand_wholes_release(struct expansion *expansion);

/* expand_qlinear.c. INVALID: an input is missing. */
expand_rule expand_ms_quantize, expand_qlinear_unary, expand_qlinear_binary, expand_qlinear_where,
    expand_qlinear_concat, expand_matmul_integer_to_float, expand_dynamic_quantize_matmul,
    expand_qgemm;

/* expand_fused.c. UNSUPPORTED: an activation that is not known, or a rank that is not. */
expand_rule expand_fused_conv, expand_fused_gemm, expand_lp_normalization, expand_lp_pool,
    expand_global_lp_pool;
