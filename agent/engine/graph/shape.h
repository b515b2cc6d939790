/* shape.h: shape inference. For concrete input shapes every value gets its type and shape; values
 * that do not depend on the run and are small (shapes, sizes, scales) are computed here, so that
 * chains like Shape -> Gather -> Concat -> Reshape need no work later. */
#pragma once

#include "agent/engine/graph.h"

enum { SHAPE_KNOWN_ELEMENTS_MAX = 1024 }; /* larger values are left to the run */

/* Runs one node on host memory, at once. The engine gives the reference kernels. ERROR_EXHAUSTED:
 * it is more than is done in advance, and is left to the run. */
typedef int evaluate_function(const struct node *node, const struct tensor *const *inputs,
                              struct tensor *const *outputs, struct error *err);

/* Whether the node's operator takes this type as input `index`; first: that of input 0. */
bool shape_type_fits(const struct node *node, int index, enum tensor_type type,
                     enum tensor_type first);

/* facts has graph->value_count items; those of the inputs are filled by the caller, the rest is
 * filled here. Known values are allocated in `arena`. Errors name the node. */
NODISCARD int shape_infer(const struct graph *graph, evaluate_function *evaluate,
                          struct arena *arena, struct fact *facts, struct error *err);

/* Once after loading: nodes that read nothing but constants become constants of the graph (weights
 * that are transposed or scaled, say), as far as that is cheap. Others are left to the run, and so
 * are their errors. */
void shape_fold_constants(struct graph *graph, evaluate_function *evaluate);

/* Floating-point operations of the convolutions and matrix products (a multiply-add is two). */
double shape_flops(const struct graph *graph, const struct fact *facts);
/* Of one node that has one of OP_COUNTED: shapes of inputs 0 and 1 and of output 0. */
double shape_node_flops(const struct node *node, const struct shape *a, const struct shape *w,
                        const struct shape *y);
