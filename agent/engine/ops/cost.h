/* cost.h: estimates the scalar operations (multiplications, additions, comparisons) of a node for
 * given shapes, because a small file can require much work. Constants are computed when a model is
 * loaded only if that takes at most COST_FOLDED_MAX operations, and networks of more than COST_MAX
 * are not run. Pure. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"

/* COST_FOLDED_MAX takes a few milliseconds; COST_MAX takes days on one processor. */
static const double COST_FOLDED_MAX = 0x1p22, COST_MAX = 0x1p50;

/* Estimated operations of one node, not counting one read of each input and one write of each
 * output: reductions, convolutions, pooling. inputs, outputs: the types and shapes that shape
 * inference found (struct fact); absent inputs are NULL. */
double cost_of_node(const struct node *node, const struct fact *const *inputs,
                    const struct fact *outputs);
/* Estimated operations of the whole graph: for each node those of cost_of_node, plus one per
 * element that it reads or writes. facts: of shape_infer. */
double cost_of_graph(const struct graph *graph, const struct fact *facts);
