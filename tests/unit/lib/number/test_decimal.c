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

/* The digits of printf: the fewest of `least` and more that read back. */
static void check_printf(double value, bool is_float) {
    char wanted[DECIMAL_BYTES], text[DECIMAL_BYTES];
    for (int digits = is_float ? 6 : 15;; digits++) {
        snprintf(wanted, sizeof wanted, "%.*g", digits, value);
        if (is_float ? strtof(wanted, NULL) == (float)value : strtod(wanted, NULL) == value) {
            break;
        }
    }
    size_t size =
        is_float ? decimal_shortest_float((float)value, text) : decimal_shortest(value, text);
    CHECK_INT((int64_t)size, (int64_t)strlen(text));
    if (strcmp(text, wanted) != 0) {
        CHECK_STR(text, wanted);
    }
}

static void test_the_shortest_text_is_that_of_printf(void) {
    static const double some[] = {
        0,         -0.0,       1,           -5,   0.1,  1e-4,       0.00012, 999999.94, 1e6,
        123456.75, 32768.0625, 16384.03125, 1e15, 1e-5, 1e14 - 0.5, 0.3,     2.0 / 3,   1e22};
    uint64_t seed = test_seed(3);
    int64_t count = 1000 * test_rounds(20);
    for (size_t i = 0; i < ARRAY_LEN(some); i++) {
        check_printf(some[i], false);
        check_printf((double)(float)some[i], true);
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = philox_bits(seed, 0, i, 0), more = philox_bits(seed, 1, i, 0);
        uint32_t low = (uint32_t)(0x38000000 + bits % (0x4a000000 - 0x38000000)); /* 3e-5 to 2e6 */
        float value;
        memcpy(&value, &low, sizeof value);
        check_printf((double)value, true);
        /* as tables have them: few digits, one of a float, all */
        double few = (double)(more % 10000000) / (double)(1 + bits % 7 * 997);
        check_printf((double)(int64_t)(few * 1000) / 1000, i % 2 == 0);
        check_printf((double)value, false);
        check_printf((double)(float)few, true);
        check_printf(few, false);
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

static void check_scan(const char *text, size_t behind) {
    double value = 0, wanted = strtod(text, NULL);
    bool is_whole = false;
    const char *end = decimal_scan(text, text + strlen(text), &value, &is_whole);
    bool fits = end && end == text + strlen(text) - behind &&
                memcmp(&value, &wanted, sizeof value) == 0 &&
                is_whole == (strcspn(text, ".eE") == strlen(text));
    if (!fits) {
        CHECK_STR(text, "a number that is read as strtod reads it");
    }
}

static void test_numbers_are_read_as_strtod_reads_them(void) {
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "7",
                                          "-12.5",
                                          "0.1",
                                          "1e5",
                                          "1E+05",
                                          "-2.5e-7",
                                          "123456789012345678",
                                          "0.30000000000000004",
                                          "9007199254740993.0",
                                          "1e22",
                                          "1e23",
                                          "1e-400",
                                          "4.9406564584124654e-324",
                                          "1.7976931348623157e308",
                                          "0.000000000000000000000000000001",
                                          "100000000000000000000.0",
                                          "-0.0"};
    static const char *const others[] = {
        "",
        "1.5e2147483648",
        "1e-2147483648",
        "-",
        ".5",
        "5.",
        "01",
        "-01",
        "1e",
        "1e+",
        "+1",
        "nan",
        "inf",
        "e5",
        "1e400",
        "1e99999",
        "1234567890123456789",
        "0.0000000000000000000000000000000000000000000000000000000000001"};
    char text[64];
    uint64_t seed = test_seed(4);
    int64_t count = 2000 * test_rounds(20);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        check_scan(numbers[i], 0);
        snprintf(text, sizeof text, "%s,", numbers[i]);
        check_scan(text, 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        double value;
        bool is_whole;
        const char *end = others[i] + strlen(others[i]);
        if (decimal_scan(others[i], end, &value, &is_whole)) {
            CHECK_STR(others[i], "no number");
        }
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = philox_bits(seed, 0, i, 0), more = philox_bits(seed, 1, i, 0);
        double value;
        memcpy(&value, &bits, sizeof value);
        snprintf(text, sizeof text, "%.*g", (int)(more % 18) + 1, value);
        check_scan(isfinite(strtod(text, NULL)) ? text : "1", 0);
        snprintf(text, sizeof text, "%.*f", (int)(more % 12),
                 (double)(int64_t)(bits >> more % 60) / 1e6);
        check_scan(text, 0);
    }
}

int main(void) {
    TEST(test_short_numbers_stay_short);
    TEST(test_nine_digits_say_that_it_is_a_float);
    TEST(test_shortest_text_of_a_double);
    TEST(test_the_shortest_text_is_that_of_printf);
    TEST(test_every_number_reads_back);
    TEST(test_numbers_are_read_as_strtod_reads_them);
    return TEST_END();
}
