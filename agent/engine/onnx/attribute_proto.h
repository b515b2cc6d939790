/* attribute_proto.h: ONNX AttributeProto -> struct attribute. Used by model.c. */
#pragma once

#include "agent/engine/graph/op.h"
#include "agent/engine/onnx/protobuf.h"
#include "lib/arena.h"

/* ret_graph: the message of a graph, which the caller reads, if the kind is ATTRIBUTE_GRAPH. */
NODISCARD int attribute_proto_read(struct protobuf message, struct arena *arena,
                                   struct attribute *ret_attribute, struct protobuf *ret_graph,
                                   struct error *err);
