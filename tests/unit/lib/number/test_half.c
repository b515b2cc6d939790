// SPDX-License-Identifier: Apache-2.0
/* Floats of 16 bits: every one of them there and back, and any double against the compiler's own
 * _Float16 and against the two bfloat16 around it. SOAK_SEED, SOAK_ROUNDS. */
#include "lib/number/half.h"

#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>

static double own_half(uint16_t bits) {
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return (double)half;
}

static void test_every_one_there_and_back(void) {
    for (unsigned bits = 0; bits < 1 << 16 && !test_failures; bits++) {
        double half = (double)half_to_float((uint16_t)bits);
        double wanted = own_half((uint16_t)bits);
        double bfloat = (double)bfloat_to_float((uint16_t)bits);
        CHECK(isnan(wanted) ? isnan(half) : half == wanted && signbit(half) == signbit(wanted));
        CHECK(isnan(half) || half_from_double(half) == bits);
        CHECK(isnan(bfloat) || bfloat_from_double(bfloat) == bits);
    }
    CHECK(isnan(half_to_float(half_from_double(NAN))));
    CHECK(isnan(bfloat_to_float(bfloat_from_double(NAN))));
}

/* Random bits of a double whose exponent is near the range of 16 bits; many midway between two. */
static double any_double(uint64_t *state, int exponent_min, int exponents) {
    double part = (double)(test_random(state) >> (11 + test_below(state, 45)));
    int exponent = exponent_min + (int)test_below(state, (uint64_t)exponents);
    double value = ldexp(1 + part * 0x1p-53, exponent);
    return test_below(state, 2) ? -value : value;
}

static void test_nearest_half(void) {
    uint64_t state = test_seed(16);
    for (int64_t i = 0; i < test_rounds(2000) * 100 && !test_failures; i++) {
        double value = any_double(&state, -27, 46);
        if (test_below(&state, 4) == 0) { /* exactly midway between two */
            double one = own_half((uint16_t)(test_below(&state, 0x7BFF)));
            uint16_t bits = half_from_double(one);
            value = (one + own_half((uint16_t)(bits + 1))) / 2;
        }
        _Float16 own = (_Float16)value;
        double wanted = (double)own, seen = (double)half_to_float(half_from_double(value));
        if (seen != wanted) {
            printf("# SOAK_SEED: %a is %a, wanted %a\n", value, seen, wanted);
            test_failures++;
        }
    }
}

static void test_nearest_bfloat(void) {
    uint64_t state = test_seed(16);
    for (int64_t i = 0; i < test_rounds(2000) * 100 && !test_failures; i++) {
        double value = any_double(&state, -138, 265);
        uint16_t bits = bfloat_from_double(value);
        double seen = (double)bfloat_to_float(bits);
        if (isinf(seen)) { /* beyond the midpoint of the largest and its successor */
            CHECK(fabs(value) >= ldexp(511, 119));
            continue;
        }
        double below =
            fabs(value - (double)bfloat_to_float((uint16_t)(bits - ((bits & 0x7FFF) > 0))));
        double above = fabs((double)bfloat_to_float((uint16_t)(bits + 1)) - value);
        double apart = fabs(seen - value);
        CHECK(apart <= below || (bits & 0x7FFF) == 0);
        CHECK(apart <= above || isnan(above));
        CHECK((apart != below && apart != above) || (bits & 1) == 0 || apart == 0);
    }
}

int main(void) {
    TEST(test_every_one_there_and_back);
    TEST(test_nearest_half);
    TEST(test_nearest_bfloat);
    return TEST_END();
}
