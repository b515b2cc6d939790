/* microsoft.h: operators of the domain com.microsoft, which ONNX Runtime's optimizers and
 * quantizers write. All are expanded into standard ones (rewrite/expand_microsoft.c). */
#pragma once

#include "agent/engine/graph/op.h"

enum { MICROSOFT_VERSION_MAX = 1 };

/* NULL: not supported. */
const struct op *microsoft_find(const char *name, int version);
