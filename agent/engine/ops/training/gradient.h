/* gradient.h: the gradient of a number (a loss) by values of a graph (variables), as further nodes
 * of the same graph. The walk is backwards over the forward nodes; each operator's rule (one row in
 * gradient_rules.c) appends what makes the gradients of its inputs of that of its outputs: ordinary
 * nodes, or the internal ones of internal.h. What is read twice gets the sum, in the order of the
 * walk: the result does not depend on threads. */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"

struct gradient;

/* Appends the gradients of the node's inputs (gradient_add). Called where at least one output has a
 * gradient and one input wants one. */
typedef int gradient_rule(struct gradient *gradient, const struct node *node, struct error *err);

/* By operator. NULL: there is none yet: refused by name where it is needed. */
extern gradient_rule *const gradient_rules[OP_COUNT];
/* Nothing flows through: comparisons, shapes, rounding. */
gradient_rule gradient_stops;

/* Fills ret_gradients[i] with the value that is the gradient of `loss` (float32, one element) by
 * variables[i]; -1 where the loss does not depend on it. Variables are float32 values that no node
 * makes (inputs), or any others: the walk ends at them. On failure the builder is to be released.
 * ERROR_UNSUPPORTED names node and operator that have no rule. */
NODISCARD int gradient_build(struct builder *builder, int loss, const int *variables, size_t count,
                             int *ret_gradients, struct error *err);

/* ---- for rules ---- */

/* The value's gradient so far; -1: none. Optional values may be -1. */
int gradient_of(const struct gradient *gradient, int value);
/* Whether the value depends on a variable, so that its gradient is of use. */
bool gradient_wants(const struct gradient *gradient, int value);
void gradient_add(struct gradient *gradient, int value, int contribution);

struct builder *gradient_builder(struct gradient *gradient);
/* A node with one output for the forward node that the rule was called for. Inputs end with -2. */
int gradient_node(struct gradient *gradient, enum op_id id, const int *inputs);
/* Likewise, with one attribute. */
int gradient_node_with(struct gradient *gradient, enum op_id id, const int *inputs,
                       const struct attribute *attribute);
/* Likewise an internal one, with the forward node's attributes and "of"; the first of
 * output_count outputs. */
int gradient_node_of(struct gradient *gradient, enum op_id id, const int *inputs, int output_count);
/* The value's shape, for SumTo, Reshape, Expand. */
int gradient_shape(struct gradient *gradient, int value);
/* Adds the contribution to a value that was broadcast. */
void gradient_add_summed(struct gradient *gradient, int value, int contribution);

/* dy times the number of elements of `few` by that of `many`. */
int gradient_share(struct gradient *gradient, int dy, int few, int many);

/* Inputs of a node, readable: V(a, b). */
#define V(...) ((const int[]){__VA_ARGS__, -2})

/* ---- the rules, by family ---- */

/* elementwise_gradient.c */
gradient_rule gradient_add_rule, gradient_sub, gradient_mul, gradient_div, gradient_pow,
    gradient_where, gradient_max_min, gradient_unary, gradient_neg, gradient_same, gradient_prelu,
    gradient_cast, gradient_round_bfloat;
/* product_gradient.c */
gradient_rule gradient_gemm, gradient_matmul, gradient_conv, gradient_pool, gradient_global_average;
/* norm_gradient.c */
gradient_rule gradient_dropout_training, gradient_norm_training, gradient_batch_normalization,
    gradient_instance_normalization, gradient_lrn, gradient_softmax, gradient_loss;
/* move_gradient.c */
gradient_rule gradient_reshape, gradient_transpose, gradient_concat, gradient_split,
    gradient_expand, gradient_move, gradient_resize, gradient_reduce_sum, gradient_reduce_extreme;
