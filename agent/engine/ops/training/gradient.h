/* gradient.h: appends nodes to a graph that compute the gradient of a number (a loss) with respect
 * to values (variables). It visits the forward nodes in reverse order; each operator's rule (one
 * row in gradient_rules.c) appends the nodes that compute the gradients of its inputs from those
 * of its outputs: ordinary nodes, or the internal ones of internal.h. The gradient of a value that
 * several nodes read is a sum in the order of the visits, so the result does not depend on
 * threads. */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"

struct gradient;

/* Appends the gradients of the node's inputs (gradient_add). Called if at least one output has a
 * gradient and at least one input needs one. */
typedef int gradient_rule(struct gradient *gradient, const struct node *node, struct error *err);

/* By operator. NULL: internal operators without a gradient. */
extern gradient_rule *const gradient_rules[OP_COUNT];
/* Instead of a rule. gradient_stops: no gradient flows through the operator, by definition:
 * comparisons, shapes, rounding. gradient_refused: one would, and there is no rule: a network that
 * needs it is refused by name. gradient_decomposed: decompose (decompose.h) writes the operator as
 * others before. Every operator is one of these or has a rule (tests/conformance/test_gradient.c).
 */
gradient_rule gradient_stops, gradient_refused, gradient_decomposed;
/* Whether a gradient can go through the node. */
bool gradient_has_rule(const struct node *node);
/* Whether the node makes floats of another type (*ret_type): a gradient would come back, and only
 * float32 has gradients, so there is no rule. */
bool gradient_leaves_float32(const struct node *node, enum tensor_type *ret_type);

/* Whether the input only says how the operator works: limits of Clip, statistics of a norm, or a
 * value of which only the shape is read. */
bool gradient_is_setting(const struct node *node, int input);
/* Whether a gradient flows from the node's outputs to this input. True for operators without a
 * rule: they are to be refused, and not passed over. */
bool gradient_carries(const struct node *node, int input);

/* Fills ret_gradients[i] with the value that is the gradient of `loss` (float32, one element) with
 * respect to variables[i]; -1 if the loss does not depend on it. Variables are float32 values,
 * inputs or others; gradients are not computed beyond them. On failure the caller must release the
 * builder. ERROR_UNSUPPORTED names node and operator without a rule. */
NODISCARD int gradient_build(struct builder *builder, int loss, const int *variables, size_t count,
                             int *ret_gradients, struct error *err);

/* ---- for rules ---- */

/* The value's gradient so far; -1: none. Optional values may be -1. */
int gradient_of(const struct gradient *gradient, int value);
/* Whether the value depends on a variable, so that its gradient is needed. */
bool gradient_wants(const struct gradient *gradient, int value);
void gradient_add(struct gradient *gradient, int value, int contribution);

struct builder *gradient_builder(struct gradient *gradient);
/* Appends a node with one output for the forward node of the rule. Inputs end with -2. */
int gradient_node(struct gradient *gradient, enum op_id id, const int *inputs);
/* As gradient_node, with one attribute. */
int gradient_node_with(struct gradient *gradient, enum op_id id, const int *inputs,
                       const struct attribute *attribute);
/* Appends an internal node, with the forward node's attributes and "of". Returns the first of its
 * output_count outputs. */
int gradient_node_of(struct gradient *gradient, enum op_id id, const int *inputs, int output_count);
/* The value's shape, for SumTo, Reshape, Expand. */
int gradient_shape(struct gradient *gradient, int value);
/* Adds a contribution to the gradient of a value that was broadcast: sums it first (SumTo). */
void gradient_add_summed(struct gradient *gradient, int value, int contribution);

/* Adds the gradient of input 0: the internal node `id` of dy, `value` and the node's other inputs,
 * which are settings (Clip's bounds). UNSUPPORTED: one of them is a variable. */
NODISCARD int gradient_add_settings(struct gradient *gradient, const struct node *node,
                                    enum op_id id, int value, struct error *err);

/* dy times the number of elements of `few`, divided by that of `many`. */
int gradient_share(struct gradient *gradient, int dy, int few, int many);

/* Of a reduction: its axes, as an input of ReduceSum; -1: all axes. */
int gradient_axes(struct gradient *gradient, const struct node *node);
/* Reshapes to size 1 in the reduced dimensions, so that the value broadcasts to x. */
int gradient_with_axes(struct gradient *gradient, const struct node *node, int value, int axes);

/* A list of inputs: V(a, b). */
#define V(...) ((const int[]){__VA_ARGS__, -2})

/* ---- the rules, by family ---- */

/* elementwise_gradient.c */
gradient_rule gradient_add_rule, gradient_sub, gradient_mul, gradient_div, gradient_pow,
    gradient_where, gradient_max_min, gradient_unary, gradient_neg, gradient_same, gradient_prelu,
    gradient_cast, gradient_mod, gradient_round_bfloat;
/* product_gradient.c */
gradient_rule gradient_gemm, gradient_matmul, gradient_conv, gradient_pool, gradient_global_average;
/* norm_gradient.c */
gradient_rule gradient_dropout_training, gradient_norm_training, gradient_batch_normalization,
    gradient_instance_normalization, gradient_lrn, gradient_softmax, gradient_rank_sum;
/* loss_gradient.c */
gradient_rule gradient_loss;
/* move_gradient.c */
gradient_rule gradient_reshape, gradient_transpose, gradient_concat, gradient_split,
    gradient_expand, gradient_move, gradient_resize, gradient_reduce_sum, gradient_reduce_extreme,
    gradient_reduce_formula;
/* pick_gradient.c */
gradient_rule gradient_top_k, gradient_scatter_elements, gradient_scatter_nd, gradient_reduce_prod,
    gradient_grid_sample;
/* einsum_gradient.c */
gradient_rule gradient_einsum;
/* recurrent_gradient.c: LSTM, GRU, RNN */
gradient_rule gradient_recurrent;
/* composed_gradient.c */
gradient_rule gradient_function, gradient_mean, gradient_cum_sum, gradient_layer_normalization,
    gradient_group_normalization;
