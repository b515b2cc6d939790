// SPDX-License-Identifier: Apache-2.0
#include "lib/number/half.h"

#include <math.h>
#include <string.h>

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to `digits` bits after the leading one; exponents below `lowest` have fewer (subnormals).
 * Ties go to even: the processor rounds a value that is scaled to an integer.
 */
static double rounded(double value, int digits, int lowest) {
    int exponent;
    if (value == 0 || !isfinite(value)) {
        return value;
    }
    frexp(value, &exponent); /* value = 0.1... * 2^exponent */
    int unit = MAX(exponent - 1, lowest) - digits;
    return ldexp(nearbyint(ldexp(value, -unit)), unit);
}

float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 1023;
    if (exponent == 31) {
        return float_of(sign | 0x7F800000u | rest << 13);
    }
    if (exponent == 0) { /* zero, or rest * 2^-24 */
        float value = (float)rest * 0x1p-24f;
        return sign ? -value : value;
    }
    return float_of(sign | (exponent + 112) << 23 | rest << 13);
}

uint16_t half_from_double(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value)) {
        return sign | 0x7E00;
    }
    double size = fabs(rounded(value, 10, -14));
    if (size >= 0x1p16) {
        return sign | 0x7C00;
    }
    int exponent;
    double part = frexp(size, &exponent);
    if (size < 0x1p-14) {
        return (uint16_t)(sign | (unsigned)(size * 0x1p24));
    }
    return (uint16_t)(sign | (unsigned)(exponent + 14) << 10 | ((unsigned)(part * 2048) & 1023));
}

float bfloat_to_float(uint16_t bfloat) {
    return float_of((uint32_t)bfloat << 16);
}

uint16_t bfloat_from_double(double value) {
    if (isnan(value)) {
        return signbit(value) ? 0xFFC0 : 0x7FC0;
    }
    float narrow = (float)rounded(value, 7, -126);
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (uint16_t)(bits >> 16);
}
