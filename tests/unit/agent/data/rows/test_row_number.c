// SPDX-License-Identifier: Apache-2.0
/* Numbers of JSON text, compared with strtod; which types hold them. */
#include "agent/data/rows/row_number.h"

#include "lib/number/decimal.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static struct row_number read_number(const char *text) {
    struct row_number number;
    size_t size = strlen(text);
    const char *end = row_number_read(text, text + size, &number);
    CHECK_INT(end - text, size);
    return number;
}

static void test_what_holds_a_number(void) {
    static const struct {
        const char *text;
        bool is_integer, is_float, is_double;
    } rows[] = {
        {"0", true, true, true},
        {"-0", false, true, true},
        {"-0.0", false, true, true},
        {"1", true, true, true},
        {"-17", true, true, true},
        {"16777216", true, true, true},
        {"16777217", true, false, true},
        {"9007199254740992", true, true, true},
        {"9007199254740993", true, false, false},
        {"9223372036854775807", true, false, false},
        {"-9223372036854775807", true, false, false},
        {"9223372036854775808", false, false, false},
        {"99999999999999999999999", false, false, false},
        {"0.5", false, true, true},
        {"0.1", false, false, true},
        {"0.100000001", false, true, true}, /* "%.9g" of 0.1f */
        {"1.00000001e-1", false, true, true},
        {"0.100000002", false, false, true},
        {"0.10000000149011612", false, true, true},
        {"3.40282347e+38", false, true, true},
        {"3.5e38", false, false, true},
        {"1e400", false, false, false},
        {"1e-400", false, true, true}, /* zero, as every reader of JSON has it */
        {"1e2", false, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct row_number number = read_number(rows[i].text);
        if (number.is_integer != rows[i].is_integer || number.is_float != rows[i].is_float ||
            number.is_double != rows[i].is_double) {
            printf("# %s: %d %d %d\n", rows[i].text, number.is_integer, number.is_float,
                   number.is_double);
            CHECK(!"as wanted");
        }
    }
    CHECK(read_number("0.1").is_short_float && read_number("-1.5e-7").is_short_float);
    CHECK(!read_number("0.10000000000000001").is_short_float);
    CHECK(!read_number("0.1234567891").is_short_float);
    CHECK(!read_number("0.100000002").is_short_float);
    CHECK(!read_number("16777217").is_short_float);
    CHECK_INT(read_number("-9223372036854775807").integer, -INT64_MAX);
    CHECK(signbit(read_number("-0").value));
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t float_bits(double value) {
    float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

static void check_same(const char *text) {
    double wanted = strtod(text, NULL), seen = read_number(text).value;
    if (bits_of(wanted) != bits_of(seen)) {
        printf("# %s: %.17g, wanted %.17g\n", text, seen, wanted);
        CHECK(!"as strtod");
    }
}

/* Every float that is spelled with nine digits is one, and is read back bit for bit. */
static void check_float(uint32_t bits) {
    char text[40];
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        return;
    }
    size_t size = decimal_from_float(value, text);
    text[size] = 0;
    struct row_number number = read_number(text);
    if (!number.is_short_float || float_bits(number.value) != bits) {
        printf("# %s (0x%08x): is_short_float %d\n", text, bits, number.is_short_float);
        CHECK(!"a short float");
    }
    snprintf(text, sizeof text, "%.9g", (double)value);
    number = read_number(text);
    if (!number.is_float || float_bits(number.value) != bits) {
        printf("# %s (0x%08x): is_float %d\n", text, bits, number.is_float);
        CHECK(!"a float");
    }
}

static void test_drawn_numbers(void) {
    uint64_t state = test_seed(1);
    for (int i = 0; i < 200000; i++) {
        char text[64];
        uint64_t bits = test_random(&state);
        double value;
        memcpy(&value, &bits, sizeof value);
        check_float((uint32_t)bits);
        snprintf(text, sizeof text, "%.*g", 1 + (int)(bits >> 60), isfinite(value) ? value : 1.5);
        check_same(text);
        snprintf(text, sizeof text, "%llu.%lluE%+d", (unsigned long long)(bits >> (bits % 61)),
                 (unsigned long long)(bits % 100000), (int)(bits % 40) - 20);
        check_same(text);
    }
}

int main(void) {
    TEST(test_what_holds_a_number);
    TEST(test_drawn_numbers);
    return TEST_END();
}
