/* attribute_proto.h: ONNX AttributeProto -> struct attribute. Used by model.c. */
#pragma once

#include "agent/engine/graph/op.h"
#include "agent/engine/onnx/protobuf.h"
#include "lib/arena.h"

/* Reads one attribute. Texts, lists and tensors that it makes are the arena's. ret_graph: the
 * message of a graph, borrowed, which the caller reads, if the kind is ATTRIBUTE_GRAPH. INVALID:
 * damaged; UNSUPPORTED: a kind that the engine does not know; the error names the attribute. */
NODISCARD int attribute_proto_read(struct protobuf message, struct arena *arena,
                                   struct attribute *ret_attribute, struct protobuf *ret_graph,
                                   struct error *err);
