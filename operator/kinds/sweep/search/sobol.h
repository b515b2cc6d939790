/* sobol.h: Sobol points: any 2^k consecutive points that begin at a multiple of 2^k are evenly
 * distributed, one in each of 2^k equal boxes of several shapes. Direction numbers: Joe and Kuo,
 * "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30
 * (2008), their table new-joe-kuo-6.21201; in the order of the Gray code, like theirs and scipy's.
 * Pure. */
#pragma once

#include "lib/base.h"

enum { SOBOL_DIMENSIONS_MAX = 32, SOBOL_BITS = 32 };

struct sobol {
    uint32_t directions[SOBOL_DIMENSIONS_MAX][SOBOL_BITS];
};

void sobol_init(struct sobol *sobol);
/* One coordinate of the index-th point (0 is the origin), times 2^32. */
uint32_t sobol_bits(const struct sobol *sobol, int dimension, uint32_t index);
