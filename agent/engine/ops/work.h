/* work.h: about how many steps of a plain loop a node takes for these shapes: so that what a small
 * file asks for is known before it is begun. What is a constant is computed when a model is loaded
 * only where that is short (WORK_FOLDED_MAX), and no network of more than WORK_MAX steps is run. */
#pragma once

#include "agent/engine/graph.h"

/* A few milliseconds; days on one processor. */
static const double WORK_FOLDED_MAX = 0x1p22, WORK_MAX = 0x1p50;

/* What a node does beside reading its inputs and writing its outputs once: sums, windows. Absent
 * inputs are NULL. */
double work_of(const struct node *node, const struct fact *const *inputs,
               const struct fact *outputs);
/* Of the whole graph, inputs and outputs included, for what shape_infer found. */
double work_of_graph(const struct graph *graph, const struct fact *facts);
