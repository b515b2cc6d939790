/* axis.h: fast kernels for operators along an axis, and for Cast, on all threads. They take over
 * steps that no chain, fused step or oneDNN kernel has taken; all values are row-major. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/ops/infer/params.h"

extern const struct kernel axis_softmax, axis_reduce, axis_arg_max, axis_top_k, axis_cast,
    axis_copy, axis_pad, axis_copy_back, axis_gather_back, axis_quantize;

/* Gives the step one of these kernels if it can; else the step stays without. */
void axis_step_try(const struct schedule *schedule, struct step *step);

/* axis_reduce: x as [outer, size, inner], where `size` is what is reduced. False: the node reduces
 * dimensions that are not adjacent, or none. */
bool axis_reduce_around(const struct schedule *schedule, const struct step *step,
                        struct around *ret_around);
bool axis_cast_has(enum tensor_type from, enum tensor_type to); /* axis_cast has a loop for it */

bool axis_quantize_takes(const struct schedule *schedule, const struct step *step);
bool axis_pad_takes(const struct schedule *schedule, const struct step *step); /* with a number */
/* All elements of a float32 tensor are 0 then. */
void axis_zero(struct threads *threads, const struct tensor *tensor);
/* Of MoveGradient: the gradients of Slice, DepthToSpace and SpaceToDepth; of Gather. */
bool axis_copy_back_takes(const struct schedule *schedule, const struct step *step);
bool axis_gather_back_takes(const struct schedule *schedule, const struct step *step);
