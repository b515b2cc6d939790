/* shape_infer.h: shape inference. For concrete input shapes every value gets its type and shape;
 * small values that do not depend on the elements of the inputs (shapes, sizes, scales) are
 * computed here, so that chains such as Shape -> Gather -> Concat -> Reshape take no time in runs.
 */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"

enum { SHAPE_KNOWN_ELEMENTS_MAX = 1024 }; /* larger values are computed in the run */

/* Runs one node on host memory. The engine passes device_evaluate, which uses the reference
 * kernels. ERROR_EXHAUSTED: too much work to do in advance; it is done in the run. */
typedef int evaluate_function(const struct node *node, const struct tensor *const *inputs,
                              struct tensor *const *outputs, struct error *err);

/* Whether the node's operator takes this type as input `index`; first: that of input 0. */
bool shape_type_fits(const struct node *node, int index, enum tensor_type type,
                     enum tensor_type first);

/* facts has graph->value_count items: the caller fills those of the inputs, this function the
 * others. Known values are allocated in `arena`. Errors name the node. */
NODISCARD int shape_infer(const struct graph *graph, evaluate_function *evaluate,
                          struct arena *arena, struct fact *facts, struct error *err);
/* The same; if it fails, *ret_reached is the index of the node. */
NODISCARD int shape_infer_until(const struct graph *graph, evaluate_function *evaluate,
                                struct arena *arena, struct fact *facts, size_t *ret_reached,
                                struct error *err);

/* Called once after loading: turns nodes that read only constants into constants (transposed or
 * scaled weights, say) if that is cheap. Other nodes are computed in the run, which also reports
 * their errors. */
void shape_fold_constants(struct graph *graph, evaluate_function *evaluate);

/* Floating-point operations of the convolutions and matrix products (a multiply-add is two). */
double shape_flops(const struct graph *graph, const struct fact *facts);
/* The same for one node with a flag of OP_COUNTED. Shapes are those of inputs 0 and 1 and of output
 * 0. */
double shape_node_flops(const struct node *node, const struct shape *a, const struct shape *w,
                        const struct shape *y);
