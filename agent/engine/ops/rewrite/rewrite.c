// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/rewrite/rewrite.h"

int rewrite_graph(const struct graph *from, struct graph *ret_graph, struct error *err) {
    struct graph expanded, widened;
    if (rewrite_expand(from, &expanded, err) < 0) {
        return -1;
    }
    if (rewrite_widen(&expanded, &widened, err) < 0) {
        graph_release(&expanded);
        return -1;
    }
    arena_join(&widened.arena, &expanded.arena); /* the second borrows from the first */
    *ret_graph = widened;
    return 0;
}
