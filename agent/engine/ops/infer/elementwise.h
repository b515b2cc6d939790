/* elementwise.h: operators that work element by element, with broadcasting. */
#pragma once

#include "agent/engine/graph.h"

/* The common shape of all inputs under broadcasting. */
NODISCARD int infer_broadcast(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* As infer_broadcast, with bool output. */
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
/* The type of the second input. */
NODISCARD int infer_cast_like(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
/* bool, of each element by itself. */
NODISCARD int infer_test(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
NODISCARD int infer_clip(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);

/* Broadcasts b into shape a: the result goes to *shape. */
NODISCARD int broadcast(struct shape *shape, const struct shape *other, struct error *err);
/* Strides, in elements, with which a tensor of shape `from` is read along `to`: 0 where it is
 * repeated. `from` must broadcast to `to`. */
void broadcast_strides(const struct shape *from, const struct shape *to,
                       int64_t ret_strides[TENSOR_RANK_MAX]);

/* The numbers of an operator `op` of one operand (LeakyRelu's alpha, HardSigmoid's alpha and beta),
 * read from a node that has its attributes, with ONNX's defaults; 0 where it has none. Not Clip's.
 */
void unary_numbers(const struct node *node, int op, float *ret_first, float *ret_second);

/* The bounds of a Clip of float32, from attributes (opset 6) or inputs (11); data of the inputs is
 * read from `low` and `high`, NULL where absent. */
void clip_bounds(const struct node *node, const struct tensor *low, const struct tensor *high,
                 float *ret_low, float *ret_high);
