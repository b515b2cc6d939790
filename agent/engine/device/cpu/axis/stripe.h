/* stripe.h: how kernels divide a tensor along an axis into units of work. */
#pragma once

#include "agent/engine/ops/infer/params.h"

/* The tensor is [outer, size, inner] (param_around_axis). A stripe is `columns` adjacent columns of
 * one outer slice, with all `size` rows. Its element (row, column) is at first + row * inner +
 * column; all in elements. */
struct axis_stripe {
    int64_t outer; /* index of the outer slice */
    int64_t first; /* its first element, from the start of the tensor */
    int columns;
};
/* A stripe has as many columns as make AXIS_STRIPE_FLOATS elements, but at least AXIS_COLUMNS_MIN
 * (of a long axis it has more elements) and at most AXIS_COLUMNS_MAX; the last one of a slice may
 * have fewer. */
enum { AXIS_COLUMNS_MIN = 32, AXIS_COLUMNS_MAX = 512, AXIS_STRIPE_FLOATS = 16384 };
/* The stripes of all outer slices together. */
int axis_stripe_count(const struct around *around);
/* index: 0..axis_stripe_count - 1. */
struct axis_stripe axis_stripe_at(const struct around *around, int index);
