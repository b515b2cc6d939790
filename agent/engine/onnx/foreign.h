/* foreign.h: files that are often given for an ONNX model, and how a model is made of them. */
#pragma once

#include "agent/engine/onnx/protobuf.h"

/* "an archive of PyTorch ...: export it with ..."; NULL: none of them. Looks at the first bytes
 * alone, which a model could have, too: for bytes that are not one. A literal. */
const char *foreign_name(struct protobuf bytes);
