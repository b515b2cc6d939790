// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/rewrite.h"

#include "agent/engine/ops/table.h"

static bool is_quantized(const struct graph *graph) {
    bool is = false;
    for (size_t i = 0; i < graph->node_count && !is; i++) {
        is = graph->nodes[i].op->id == OP_QUANTIZE_LINEAR;
    }
    return is;
}

/* Replaces *graph, which the result borrows from. */
static int keep_wholes(struct graph *graph, struct error *err) {
    struct graph whole;
    if (!is_quantized(graph)) {
        return 0;
    }
    if (rewrite_whole(graph, &whole, err) < 0) {
        return -1;
    }
    arena_join(&whole.arena, &graph->arena);
    *graph = whole;
    return 0;
}

int rewrite_graph(const struct graph *from, struct graph *ret_graph, struct error *err) {
    struct graph expanded, widened, lifted;
    if (rewrite_expand(from, &expanded, err) < 0) {
        return -1;
    }
    if (keep_wholes(&expanded, err) < 0 || rewrite_widen(&expanded, &widened, err) < 0) {
        graph_release(&expanded);
        return -1;
    }
    rewrite_lift(&widened, &lifted);
    arena_join(&lifted.arena, &widened.arena); /* each borrows from the one before */
    arena_join(&lifted.arena, &expanded.arena);
    *ret_graph = lifted;
    return 0;
}
