/* graph_proto.h: ONNX GraphProto -> struct graph. Used by model.c. */
#pragma once

#include "agent/graph/graph.h"
#include "agent/onnx/protobuf.h"

/* graph is empty, its arena apart. Errors as in model.h. */
NODISCARD int graph_proto_read(struct wire message, int opset, struct graph *graph,
                               struct error *err);

/* "" and "ai.onnx" name the standard operators. */
bool wire_is_standard_domain(struct wire domain);
