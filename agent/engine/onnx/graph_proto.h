/* graph_proto.h: ONNX GraphProto -> struct graph. Used by model.c. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/onnx/external_data.h"
#include "agent/engine/onnx/functions.h"
#include "agent/engine/onnx/left_out.h"

/* What a graph refers to outside of its message. */
struct graph_context {
    const struct versions *versions;
    const struct functions *functions;
    struct external_data *external;
};

/* graph is empty, except for its arena. Errors are those of model.h. */
NODISCARD int graph_proto_read(struct protobuf message, const struct graph_context *context,
                               struct graph *graph, struct left_out *ret_left_out,
                               struct error *err);
