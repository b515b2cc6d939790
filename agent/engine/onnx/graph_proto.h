/* graph_proto.h: ONNX GraphProto -> struct graph. Used by model.c. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/onnx/domains.h"
#include "agent/engine/onnx/left_out.h"

/* graph is empty, except for its arena. Errors are those of model.h. */
NODISCARD int graph_proto_read(struct protobuf message, const struct versions *versions,
                               struct graph *graph, struct left_out *ret_left_out,
                               struct error *err);
