// SPDX-License-Identifier: Apache-2.0
/* Bodies of If, Loop, Scan and SequenceMap: graphs that are attributes. What a body reads of the
 * graph around it becomes an input of the body and of its node, so nothing else knows of scopes. */
#include "agent/engine/onnx/build.h"

#include "agent/engine/graph/node.h"

#include <string.h>

static void release(void *body) {
    graph_release(body);
}

int build_body(struct build *build, struct protobuf message, struct attribute *attribute,
               struct error *err) {
    struct arena *arena = &build->graph->arena;
    struct graph *body = arena_alloc(arena, sizeof *body);
    struct left_out left_out;
    struct build inner = {.graph = body,
                          .context = build->context,
                          .left_out = &left_out,
                          .nodes = {.arena = &body->arena},
                          .outer = build,
                          .read = build->read,
                          .depth = build->depth + 1};
    arena_keep(arena, body, release);
    body->is_of_file = build->graph->is_of_file;
    if (inner.depth > BODY_DEPTH_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "bodies are nested more than %d deep",
                         BODY_DEPTH_MAX);
    }
    struct node_list *all = &build->nodes; /* the limits of calls hold for all bodies together */
    inner.nodes.used_bytes = all->used_bytes;
    inner.nodes.calls = all->calls;
    inner.nodes.looks = all->looks;
    if (build->read(&inner, message, err) < 0) {
        return -1;
    }
    all->used_bytes = inner.nodes.used_bytes;
    all->calls = inner.nodes.calls;
    all->looks = inner.nodes.looks;
    if (body->strings) {
        return error_set(err, ERROR_UNSUPPORTED, "strings in a body are not supported");
    }
    for (size_t i = 0; i < inner.captures.count; i++) {
        build_capture(arena, &build->pending, inner.captures.values[i]);
    }
    attribute->graph = body;
    attribute->count = inner.captures.count;
    return 0;
}

int build_connect(struct build *build, struct node *node, struct error *err) {
    const struct captures *pending = &build->pending;
    size_t own = (size_t)node->input_count;
    if (pending->count > NODE_PORTS_MAX - own) {
        return error_set(err, ERROR_UNSUPPORTED, "its bodies read more than %d values around them",
                         NODE_PORTS_MAX);
    }
    if (!pending->count) {
        return 0;
    }
    int *inputs = arena_array(&build->graph->arena, own + pending->count, sizeof *inputs);
    if (own) {
        memcpy(inputs, node->inputs, own * sizeof *inputs);
    }
    memcpy(inputs + own, pending->values, pending->count * sizeof *inputs);
    node->inputs = inputs;
    node->input_count += (int)pending->count;
    return 0;
}
