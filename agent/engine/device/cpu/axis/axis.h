/* axis.h: fast kernels for operators along an axis, and for Cast, on all threads. They take over
 * steps that no chain, fused step or oneDNN kernel has taken; all values are row-major. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/ops/infer/params.h"

extern const struct kernel axis_softmax, axis_reduce, axis_arg_max, axis_top_k, axis_cast,
    axis_copy, axis_quantize;

/* Gives the step one of these kernels if it can; else the step stays without. */
void axis_step_try(const struct schedule *schedule, struct step *step);

/* axis_reduce: x as [outer, size, inner], where `size` is what is reduced. False: the node reduces
 * dimensions that are not adjacent, or none. */
bool axis_reduce_around(const struct schedule *schedule, const struct step *step,
                        struct around *ret_around);
bool axis_cast_has(enum tensor_type from, enum tensor_type to); /* axis_cast has a loop for it */

bool axis_quantize_takes(const struct schedule *schedule, const struct step *step);

/* A stripe: `columns` adjacent columns of one outer index, all rows of the axis. Element (row,
 * column) is at first + row * inner + column, in elements. */
struct axis_stripe {
    int64_t outer, first;
    int columns;
};
/* How the columns are divided: the rows of a stripe have at most AXIS_STRIPE_FLOATS numbers. */
enum { AXIS_COLUMNS_MAX = 512, AXIS_STRIPE_FLOATS = 16384 };
int axis_stripe_count(const struct around *around);
struct axis_stripe axis_stripe_at(const struct around *around, int index);
