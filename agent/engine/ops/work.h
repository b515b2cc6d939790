/* work.h: estimates the number of steps of a plain loop that a node takes for given shapes, because
 * a small file can require much work. Constants are computed when a model is loaded only if that
 * takes at most WORK_FOLDED_MAX steps, and networks of more than WORK_MAX steps are not run. */
#pragma once

#include "agent/engine/graph.h"

/* WORK_FOLDED_MAX takes a few milliseconds; WORK_MAX takes days on one processor. */
static const double WORK_FOLDED_MAX = 0x1p22, WORK_MAX = 0x1p50;

/* The work of a node in addition to reading its inputs and writing its outputs once: sums, windows.
 * Absent inputs are NULL. */
double work_of(const struct node *node, const struct fact *const *inputs,
               const struct fact *outputs);
/* The work of the whole graph, including reading inputs and writing outputs, for the results of
 * shape_infer. */
double work_of_graph(const struct graph *graph, const struct fact *facts);
