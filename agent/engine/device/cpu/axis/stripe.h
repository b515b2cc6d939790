/* stripe.h: how kernels divide a tensor along an axis into units of work. */
#pragma once

#include "agent/engine/ops/infer/params.h"

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
