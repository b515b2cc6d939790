// SPDX-License-Identifier: Apache-2.0
/* Floats as short decimal numbers: each reads back as the same float. */
#include "lib/number/decimal.h"
#include "lib/number/philox.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

static const char *text_of(float value) {
    static char text[DECIMAL_BYTES + 1];
    text[decimal_from_float(value, text)] = 0;
    return text;
}

static void test_short_numbers_stay_short(void) {
    CHECK_STR(text_of(0), "0.0");
    CHECK_STR(text_of(-0.0f), "-0.0");
    CHECK_STR(text_of(1), "1.0");
    CHECK_STR(text_of(-0.1f), "-0.1");
    CHECK_STR(text_of(0.3f), "0.3");
    CHECK_STR(text_of(100), "100.0");
    CHECK_STR(text_of(12345.5f), "12345.5");
    CHECK_STR(text_of(0.0625f), "0.0625");
    CHECK_STR(text_of(1e-5f), "1e-05");
    CHECK_STR(text_of(9999999), "9999999.0");
    CHECK_STR(text_of(1e7f), "1e+07");
    CHECK_STR(text_of(3e38f), "3e+38");
    CHECK_STR(text_of(0.99999994f), "0.99999994");
    CHECK_STR(text_of(16777216), "16777216.0");
}

static const char *nine_of(float value) {
    static char text[DECIMAL_BYTES + 1];
    text[decimal_nine_from_float(value, text)] = 0;
    return text;
}

static void test_nine_digits_say_that_it_is_a_float(void) {
    CHECK_STR(nine_of(0.1f), "0.100000001");
    CHECK_STR(nine_of(-0.3f), "-0.300000012");
    CHECK_STR(nine_of(0.5f), "0.5");
    CHECK_STR(nine_of(0), "0.0");
    CHECK_STR(nine_of(100), "100.0");
    CHECK_STR(nine_of(1e-7f), "1.00000001e-07");
    CHECK_STR(nine_of(3e38f), "3.00000001e+38");
    CHECK_STR(nine_of(9999999), "9999999.0");
}

static const char *shortest_of(double value) {
    static char text[DECIMAL_BYTES];
    decimal_shortest(value, text);
    return text;
}

static void test_shortest_text_of_a_double(void) {
    CHECK_STR(shortest_of(0.1), "0.1");
    CHECK_STR(shortest_of(1), "1");
    CHECK_STR(shortest_of(-2.5e-7), "-2.5e-07");
    CHECK_STR(shortest_of(0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(shortest_of(5e-324), "4.94065645841247e-324");
    CHECK_STR(shortest_of(-1.7976931348623157e308), "-1.7976931348623157e+308");
}

/* Both ways that readers go: to float at once, and by a double. */
static bool reads_back(float value) {
    const char *text = text_of(value);
    float at_once = strtof(text, NULL), by_double = (float)strtod(text, NULL);
    return strlen(text) <= DECIMAL_BYTES && memcmp(&at_once, &value, sizeof value) == 0 &&
           memcmp(&by_double, &value, sizeof value) == 0;
}

static void check_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value) && !reads_back(value)) {
        CHECK_STR(text_of(value), "a text that reads back");
    }
}

static void test_every_number_reads_back(void) {
    uint64_t seed = test_seed(1);
    int64_t count = 10000 * test_rounds(20);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = philox_bits(seed, 0, i, 0);
        check_bits((uint32_t)bits);
        /* between 1e-6 and 1e8, where the digits are our own */
        check_bits((uint32_t)(0x35800000 + (bits >> 32) % (0x4cc00000 - 0x35800000)) |
                   (uint32_t)(bits & 0x80000000));
    }
    for (uint32_t exponent = 0; exponent < 255; exponent++) {
        for (uint32_t near = 0; near < 64; near++) {
            check_bits((exponent << 23) + near);
            check_bits(((exponent + 1) << 23) - 1 - near);
        }
    }
}

int main(void) {
    TEST(test_short_numbers_stay_short);
    TEST(test_nine_digits_say_that_it_is_a_float);
    TEST(test_shortest_text_of_a_double);
    TEST(test_every_number_reads_back);
    return TEST_END();
}
