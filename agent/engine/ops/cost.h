/* cost.h: estimates the number of steps of a plain loop that a node takes for given shapes, because
 * a small file can require much work. Constants are computed when a model is loaded only if that
 * takes at most COST_FOLDED_MAX steps, and networks of more than COST_MAX steps are not run. */
#pragma once

#include "agent/engine/graph.h"

/* COST_FOLDED_MAX takes a few milliseconds; COST_MAX takes days on one processor. */
static const double COST_FOLDED_MAX = 0x1p22, COST_MAX = 0x1p50;

/* The work of a node in addition to reading its inputs and writing its outputs once: sums, windows.
 * Absent inputs are NULL. */
double cost_of_node(const struct node *node, const struct fact *const *inputs,
                    const struct fact *outputs);
/* The work of the whole graph, including reading inputs and writing outputs, for the results of
 * shape_infer. */
double cost_of_graph(const struct graph *graph, const struct fact *facts);
