/* decompose.h: before gradients are made, operators that are formulas of others are written as
 * these (ops/rewrite/expand.h), so that they need no rules of their own; and what looks up ids of a
 * sample refuses those that its table does not have. */
#pragma once

#include "agent/engine/graph.h"

/* Copies the network. Values keep their indices; new nodes have the name of the node that they
 * replace. `network` must outlive *ret_graph (graph_release). */
NODISCARD int decompose(const struct graph *network, struct graph *ret_graph, struct error *err);
