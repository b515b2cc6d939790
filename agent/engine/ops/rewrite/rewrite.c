// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/rewrite.h"

int rewrite_graph(const struct graph *from, struct graph *ret_graph, struct error *err) {
    struct graph expanded, widened, lifted;
    if (rewrite_expand(from, &expanded, err) < 0) {
        return -1;
    }
    if (rewrite_widen(&expanded, &widened, err) < 0) {
        graph_release(&expanded);
        return -1;
    }
    rewrite_lift(&widened, &lifted);
    arena_join(&lifted.arena, &widened.arena); /* each borrows from the one before */
    arena_join(&lifted.arena, &expanded.arena);
    *ret_graph = lifted;
    return 0;
}
