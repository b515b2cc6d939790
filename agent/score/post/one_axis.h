/* one_axis.h: outputs that have a list of numbers for each item, whatever axes of 1 are around it:
 * [n, c], [n, c, 1, 1] as convolutions leave it, [n, 1, 1, c]. Pure. */
#pragma once

#include "agent/engine/tensor.h"

/* The length of that list, behind the first axis, which is that of the items; 1 for [n]; 0: two
 * axes are longer than 1, or there are no values. */
int64_t one_axis_size(const struct shape *shape);
