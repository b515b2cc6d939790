// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph.h"

void graph_release(struct graph *graph) {
    arena_release(&graph->arena);
    *graph = (struct graph){0};
}
