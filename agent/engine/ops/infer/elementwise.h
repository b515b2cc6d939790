/* elementwise.h: elementwise operators, with broadcasting. */
#pragma once

#include "agent/engine/graph/node.h"

/* The output has the common shape of all inputs under broadcasting. */
NODISCARD int infer_broadcast(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* As infer_broadcast, with a bool output. */
NODISCARD int infer_compare(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_bit_shift(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
NODISCARD int infer_bitwise(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_mod(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);
NODISCARD int infer_where(const struct node *node, const struct fact *const *inputs,
                          struct fact *outputs, struct error *err);
/* The second input must broadcast to the first (PRelu). */
NODISCARD int infer_one_way(const struct node *node, const struct fact *const *inputs,
                            struct fact *outputs, struct error *err);
NODISCARD int infer_cast(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* The output has the type of the second input. */
NODISCARD int infer_cast_like(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* For tests of single elements; the output is bool. */
NODISCARD int infer_test(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_clip(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);

/* Broadcasts `other` with *shape, which becomes the result. */
NODISCARD int elementwise_broadcast(struct shape *shape, const struct shape *other,
                                    struct error *err);
/* Strides, in elements, for reading a tensor of shape `from` along `to`: 0 in dimensions in which
 * it is repeated. `from` must broadcast to `to`. */
void elementwise_broadcast_strides(const struct shape *from, const struct shape *to,
                                   int64_t ret_strides[TENSOR_RANK_MAX]);

/* The parameters of an operator `op` with one operand (LeakyRelu's alpha, HardSigmoid's alpha and
 * beta), from the attributes of the node, with ONNX's defaults; 0 for operators without parameters.
 * Not for Clip. */
void elementwise_unary_numbers(const struct node *node, int op, float *ret_first,
                               float *ret_second);

/* The bounds of a float32 Clip, from attributes (opset 6) or inputs (opset 11). low and high are
 * these inputs; NULL: absent. */
void elementwise_clip_bounds(const struct node *node, const struct tensor *low,
                             const struct tensor *high, float *ret_low, float *ret_high);
