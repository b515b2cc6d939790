// SPDX-License-Identifier: Apache-2.0
#include "lib/digest.h"
#include "lib/time/clock.h"

#include "tests/test.h"

#include <stdlib.h>

static void test_format_and_parse_are_inverse(void) {
    static const struct {
        int64_t wall_ms;
        const char *text;
    } rows[] = {{0, "1970-01-01T00:00:00Z"},
                {1795233600000, "2026-11-21T04:00:00Z"},
                {1709164800000, "2024-02-29T00:00:00Z"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[21];
        clock_format(rows[i].wall_ms, text);
        CHECK_STR(text, rows[i].text);
        CHECK_INT(clock_parse(text), rows[i].wall_ms);
    }
    CHECK_INT(clock_parse("2026-11-21"), -1);
    CHECK_INT(clock_parse(NULL), -1);
    CHECK_INT(clock_parse("2026-11-21T04:00:00Z "), -1);
}

static void test_monotonic_goes_on(void) {
    int64_t before = clock_monotonic_ns();
    CHECK(clock_monotonic_ns() >= before);
    CHECK(clock_wall_ms() > 1700000000000);
}

static void test_sha256(void) {
    char hex[65];
    digest_sha256("abc", 3, hex); /* FIPS 180-2, appendix B.1 */
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_random_and_equal(void) {
    AUTO(text_freep) char *a = digest_random(16);
    AUTO(text_freep) char *b = digest_random(16);
    CHECK_INT(strlen(a), 32);
    CHECK(!digest_equal(a, b));
    CHECK(digest_equal(a, a));
    CHECK(!digest_equal("abc", "ab"));
}

int main(void) {
    TEST(test_format_and_parse_are_inverse);
    TEST(test_monotonic_goes_on);
    TEST(test_sha256);
    TEST(test_random_and_equal);
    return TEST_END();
}
