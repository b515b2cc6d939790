/* layout.h: which values are in the blocks of fast/vector.h, for kernels of both folders that know
 * blocks: fast/ and onednn/, which know nothing of each other. */
#pragma once

#include "agent/engine/graph/schedule.h"

struct vector_ops;

/* Sets slot->layout (enum layout of fast/steps.h) and size_bytes, once steps are fused and planned;
 * steps that cannot be fast/'s after all lose their kernel. */
void layout_choose(const struct vector_ops *ops, struct schedule *schedule);
