/* declared.h: what each initializer is by PyTorch's exporter (torch.export, dynamo=True), which
 * writes it into the metadata of its ValueInfoProto: a parameter, a buffer or a constant. Used by
 * graph_proto.c. */
#pragma once

#include "agent/engine/onnx/build.h"

/* Makes literals of the constants that are not parameters of the module: buffers, tensors of the
 * program, and what onnxscript's optimizer has computed of numbers alone. Statistics of a
 * BatchNormalization, which are buffers, stay as they are. What cannot be read says nothing. Call
 * it when all nodes are read. */
void declared_read(struct build *build, struct protobuf graph);
