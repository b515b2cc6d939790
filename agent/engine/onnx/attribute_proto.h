/* attribute_proto.h: ONNX AttributeProto -> struct attribute. Used by model.c. */
#pragma once

#include "agent/engine/graph/op.h"
#include "agent/engine/onnx/protobuf.h"
#include "lib/arena.h"

NODISCARD int attribute_proto_read(struct protobuf message, struct arena *arena,
                                   struct attribute *ret_attribute, struct error *err);
