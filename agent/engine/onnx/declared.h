/* declared.h: what PyTorch's exporter of torch.export (dynamo=True) says of each initializer, in
 * the metadata of its ValueInfoProto. Used by graph_proto.c. */
#pragma once

#include "agent/engine/onnx/build.h"

/* Makes literals of the constants that are no parameters of the module: buffers, tensors of the
 * program, and what onnxscript's optimizer has computed of numbers alone. Statistics of a
 * BatchNormalization, which are buffers, stay as they are. What cannot be read says nothing. Call
 * it when all nodes are read. */
void declared_read(struct build *build, struct protobuf graph);
