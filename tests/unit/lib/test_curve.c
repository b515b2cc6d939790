// SPDX-License-Identifier: Apache-2.0
/* Which reports make a point, and curves as text: what is written is read, what is none is refused.
 */
#include "lib/curve.h"
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
        {1, 100, 0.5, 0.5}, {2, -1, -0.25, -1e-30}, {3, 0, NAN, NAN}, {9, 7, 1234567.125, 1e300}};
    struct curve curve = {0}, again;
    struct error err = {0};
    char text[CURVE_TEXT_MAX], same[CURVE_TEXT_MAX];
    curve_write(&curve, text);
    CHECK_STR(text, "");
    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        curve_add(&curve, &points[i]);
    }
    curve_write(&curve, text);
    CHECK_STR(text, "1:100:0.5:0.5 2::-0.25:-1e-30 3:0:: 9:7:1234567.12:1e+300");
    CHECK_OK(curve_read(text, &again, &err), &err);
    CHECK_INT(again.count, 4);
    CHECK(again.points[1].step == -1 && again.points[1].best == -0.25);
    CHECK(isnan(again.points[2].best) && isnan(again.points[2].mean));
    curve_write(&again, same);
    CHECK_STR(same, text);
    CHECK_OK(curve_read("", &again, &err), &err);
    CHECK_INT(again.count, 0);
}

static void the_longest(void) {
    struct curve curve = {0}, again;
    struct error err = {0};
    char text[CURVE_TEXT_MAX];
    for (int i = 0; i < CURVE_POINTS_MAX + 1; i++) {
        struct curve_point point = {INT64_MAX - 100 + i, INT64_MAX, -1.23456789e-300,
                                    -1.23456789e-300};
        curve_add(&curve, &point);
    }
    CHECK_INT(curve.count, CURVE_POINTS_MAX);
    curve_write(&curve, text);
    CHECK(strlen(text) < sizeof text);
    CHECK_OK(curve_read(text, &again, &err), &err);
    CHECK_INT(again.count, CURVE_POINTS_MAX);
    CHECK_INT(again.points[0].step, INT64_MAX);
}

static void what_is_none(void) {
    static const char *const wrong[] = {
        "1",         "1:2",         "1:2:3",         "1:2:3:",    "1:2::3",
        ":2:3:4",    "0:2:3:4",     "-1:2:3:4",      "1:-2:3:4",  "1:2:x:4",
        "1:2:3:4 ",  " 1:2:3:4",    "1:2:3:4  2:::", "1:2:nan:1", "1:2:3:inf",
        "1:2:3:4,2", "1:2:1e999:1", "2::: 1:::",     "1::: 1:::", "99999999999999999999:::",
        "1:2:3:4\n", "1:2:3e:4",    "1:2:+-3:4",     "1:2:0x1:4"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct curve curve = {.count = 7};
        struct error err = {0};
        int result = curve_read(wrong[i], &curve, &err);
        if (result == 0) {
            printf("# %s was taken\n", wrong[i]);
        }
        CHECK(result < 0 && err.kind == ERROR_INVALID && curve.count == 7);
    }
}

int main(void) {
    TEST(when_points_are_made);
    TEST(as_text);
    TEST(the_longest);
    TEST(what_is_none);
    return TEST_END();
}
