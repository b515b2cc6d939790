/* sobol.h: Sobol's points: any 2^k of them in a row that begin at a multiple of 2^k lie evenly, one
 * in each of 2^k equal boxes of several shapes. Direction numbers: Joe and Kuo, "Constructing Sobol
 * sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), their table
 * new-joe-kuo-6.21201; in Gray code's order, as theirs and scipy's. Pure. */
#pragma once

#include "lib/base.h"

enum { SOBOL_DIMENSIONS_MAX = 32, SOBOL_BITS = 32 };

struct sobol {
    uint32_t directions[SOBOL_DIMENSIONS_MAX][SOBOL_BITS];
};

void sobol_init(struct sobol *sobol);
/* Of the index-th point, from 0 (the origin) on, the coordinate times 2^32. */
uint32_t sobol_bits(const struct sobol *sobol, int dimension, uint32_t index);
