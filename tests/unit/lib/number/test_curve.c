// SPDX-License-Identifier: Apache-2.0
/* Which reports make a point; curves as text: written ones are read, invalid ones refused. */
#include "lib/number/curve.h"
#include "tests/test.h"

#include <math.h>

static void check_due(int64_t interval, int64_t delay, const int64_t *wanted, size_t count) {
    size_t found = 0;
    for (int64_t reports = 1; found < count && reports < 100000; reports++) {
        if (curve_is_due(reports, interval, delay)) {
            CHECK_INT(reports, wanted[found]);
            found++;
        }
    }
    CHECK_INT(found, count);
}

static void when_points_are_made(void) {
    static const int64_t plain[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                    14, 15, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80};
    static const int64_t tens[] = {10, 20, 30}, late[] = {5, 6, 7}, both[] = {50, 60, 70},
                         at_40[] = {40, 50}, long_ago[] = {1, 2};
    check_due(1, 0, plain, ARRAY_LEN(plain));
    check_due(10, 0, tens, ARRAY_LEN(tens));
    check_due(1, 5, late, ARRAY_LEN(late));
    check_due(10, 41, both, ARRAY_LEN(both));
    check_due(10, 40, at_40, ARRAY_LEN(at_40));
    check_due(1, 1, long_ago, ARRAY_LEN(long_ago));
    int64_t count = 0, last = 0;
    for (int64_t reports = 1; reports < 100000; reports++) {
        bool is_due = curve_is_due(reports, 1, 0);
        count += is_due;
        last = is_due ? reports : last;
    }
    CHECK_INT(count, CURVE_POINTS_MAX);
    CHECK_INT(last, 4096);
    CHECK(!curve_is_due(0, 1, 0));
}

static void as_text(void) {
    static const struct curve_point points[] = {
        {1, 0.5, 0.5, 100}, {2, -0.25, -1e-30, -1}, {3, NAN, NAN, 0}, {9, 1234567.125, 1e300, 7}};
    AUTO(curve_release) struct curve curve = {0};
    char text[CURVE_TEXT_MAX], same[CURVE_TEXT_MAX];
    curve_write(&curve, text);
    CHECK_STR(text, "");
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        curve_add(&curve, &points[i]);
    }
    curve_write(&curve, text);
    CHECK_STR(text, "1:100:0.5:0.5 2::-0.25:-1e-30 3:0:: 9:7:1234567.12:1e+300");
    AUTO(curve_release) struct curve again = curve_read(text);
    CHECK_INT(again.count, 4);
    CHECK(again.at[1].step == -1 && again.at[1].best == -0.25 && again.at[3].step == 7);
    CHECK(isnan(again.at[2].best) && isnan(again.at[2].mean) && again.at[2].step == 0);
    curve_write(&again, same);
    CHECK_STR(same, text);
    CHECK_INT(curve_read("").count, 0);
}

static void the_longest(void) {
    AUTO(curve_release) struct curve curve = {0};
    char text[CURVE_TEXT_MAX];
    for (int i = 0; i < CURVE_POINTS_MAX + 1; i++) {
        struct curve_point point = {INT64_MAX - 100 + i, -1.23456789e-300, -1.23456789e-300,
                                    INT64_MAX};
        curve_add(&curve, &point);
    }
    CHECK_INT(curve.count, CURVE_POINTS_MAX);
    curve_write(&curve, text);
    CHECK(strlen(text) < sizeof text);
    AUTO(curve_release) struct curve again = curve_read(text);
    char same[CURVE_TEXT_MAX];
    curve_write(&again, same);
    CHECK_STR(same, text);
}

/* The valid prefix of a text. */
static void what_is_none(void) {
    static const struct {
        const char *text;
        int count;
        const char *same;
    } rows[] = {{"nonsense", 0, ""},
                {"1:2", 0, ""},
                {"0:2:3:4", 0, ""},
                {"1e16:2:3:4", 0, ""},
                {"1:2:3:4 1:2:3:4", 1, "1:2:3:4"},
                {"1:-5:inf:x 2:1e99:1:2 3", 2, "1::: 2::1:2"},
                {"1:2:3:4:5", 0, ""},
                {"1:2:3:4\n2:::", 0, ""},
                {"1:1700000000000000001:3:4", 1, "1:1700000000000000001:3:4"},
                {"9223372036854775808:2:3:4", 0, ""},
                {"2.5:2:3:4", 0, ""},
                {"7:9223372036854775808:3:4 8:2.5:3:4", 2, "7::3:4 8::3:4"},
                {"1:2:3:4 ", 1, "1:2:3:4"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(curve_release) struct curve curve = curve_read(rows[i].text);
        char text[CURVE_TEXT_MAX];
        curve_write(&curve, text);
        CHECK_INT(curve.count, rows[i].count);
        CHECK_STR(text, rows[i].same);
    }
}

int main(void) {
    TEST(when_points_are_made);
    TEST(as_text);
    TEST(the_longest);
    TEST(what_is_none);
    return TEST_END();
}
