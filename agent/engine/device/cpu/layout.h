/* layout.h: chooses which values of a schedule (its slots) are in the blocked layout, channels in
 * groups of 8 or 16 (vector/vector.h), for the kernels of the two folders that support it: fast/
 * and onednn/, which do not depend on each other. */
#pragma once

#include "agent/engine/graph/schedule.h"

struct vector_ops;

/* Sets slot->layout (enum layout, declared in fast/steps.h) and slot->size_bytes. Call once, after
 * the steps are fused and have their fast kernels. The kernel of a step that fast/ cannot run with
 * these layouts is reset to NULL; prepare.c then tries the others, at last the reference kernel. */
void layout_choose(const struct vector_ops *ops, struct schedule *schedule);
