// SPDX-License-Identifier: Apache-2.0
/* Frees a graph; the name of a node's operator. */
#include "agent/engine/graph.h"

#include "agent/engine/graph/node.h"

void graph_release(struct graph *graph) {
    arena_release(&graph->arena);
    *graph = (struct graph){0};
}

const char *graph_operator(const struct graph *graph, size_t index) {
    return graph->nodes[index].op->name;
}
