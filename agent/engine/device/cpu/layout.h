/* layout.h: which values are in the blocked layout of fast/vector.h, for the kernels of the two
 * folders that support it: fast/ and onednn/, which do not depend on each other. */
#pragma once

#include "agent/engine/graph/schedule.h"

struct vector_ops;

/* Sets slot->layout (enum layout of fast/steps.h) and size_bytes, after steps are fused and
 * planned. A step that fast/ cannot run with these layouts loses its kernel. */
void layout_choose(const struct vector_ops *ops, struct schedule *schedule);
