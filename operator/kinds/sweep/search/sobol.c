// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/sobol.h"

#include <assert.h>

/* For each dimension except the first (van der Corput's): a primitive polynomial over GF(2) of that
 * degree, its inner coefficients as bits, and the first odd numbers m. */
static const struct {
    uint8_t degree, inner, m[7];
} rows[SOBOL_DIMENSIONS_MAX - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
};

void sobol_init(struct sobol *sobol) {
    for (int bit = 0; bit < SOBOL_BITS; bit++) {
        sobol->directions[0][bit] = (uint32_t)1 << (SOBOL_BITS - 1 - bit);
    }
    for (int dimension = 1; dimension < SOBOL_DIMENSIONS_MAX; dimension++) {
        uint32_t *direction = sobol->directions[dimension];
        int degree = rows[dimension - 1].degree, inner = rows[dimension - 1].inner;
        for (int bit = 0; bit < SOBOL_BITS; bit++) {
            if (bit < degree) {
                direction[bit] = (uint32_t)rows[dimension - 1].m[bit] << (SOBOL_BITS - 1 - bit);
                continue;
            }
            direction[bit] = direction[bit - degree] ^ direction[bit - degree] >> degree;
            for (int k = 1; k < degree; k++) {
                direction[bit] ^= inner >> (degree - 1 - k) & 1 ? direction[bit - k] : 0;
            }
        }
    }
}

uint32_t sobol_bits(const struct sobol *sobol, int dimension, uint32_t index) {
    assert(dimension >= 0 && dimension < SOBOL_DIMENSIONS_MAX);
    uint32_t bits = 0, gray = index ^ index >> 1;
    for (int bit = 0; gray; bit++, gray >>= 1) {
        bits ^= gray & 1 ? sobol->directions[dimension][bit] : 0;
    }
    return bits;
}
