/* expand.h: operators that are written in others before a graph is run (rewrite.h). A rule appends
 * ordinary nodes for the one it stands for and gives its outputs away. No intermediate is larger
 * than the larger of inputs and outputs. A caller that infers shapes without expanding, training
 * say, is refused by name (infer_expanded). */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/ops/table.h"

/* ---- for rules: expand_nodes.c ---- */

struct expansion {
    struct builder builder;
    const struct node *node; /* that is expanded */
};

/* *ret_done stays false where the node is to stay as it is. */
typedef int expand_rule(struct expansion *expansion, const struct node *node, bool *ret_done,
                        struct error *err);

/* A new node, named after the one that is expanded; the first of its outputs, which the others
 * follow. Inputs end with -2; attributes (NULL: none) with a NULL name. */
int expand_value(struct expansion *expansion, enum op_id id, const int *inputs, int output_count,
                 const struct attribute *attributes);
int expand_number(struct expansion *expansion, float number);
/* The node itself under another operator, which takes over all its outputs. */
void expand_as(struct expansion *expansion, enum op_id id);
/* The node's output (if it has that) is this value. */
void expand_give(struct expansion *expansion, int output, int value);

#define INPUTS(...) ((const int[]){__VA_ARGS__, -2})

/* ---- the rules: expand_rules.c ---- */

/* With training_mode 1: the statistics are the batch's. */
expand_rule expand_batch_normalization;
/* Before opset 7 the second operand is aligned by attribute axis, if broadcast is 1. */
expand_rule expand_old_binary;
expand_rule expand_mean_variance;
/* Devices do not know pools that give the places of maxima, too. */
expand_rule expand_max_pool;
/* Devices do not know padding that repeats the input. */
expand_rule expand_pad;

/* expand_quantized.c */
expand_rule expand_conv_integer, expand_dynamic_quantize, expand_matmul_integer,
    expand_qlinear_conv, expand_qlinear_matmul;
