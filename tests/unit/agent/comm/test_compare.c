// SPDX-License-Identifier: Apache-2.0
/* The first part in which ranks differ, and which rank differs from most. */
#include "agent/comm/compare.h"

#include "tests/test.h"

enum { PARTS = 3 };

static void test_who_differs(void) {
    static const struct {
        int ranks;
        uint32_t all[5][PARTS];
        bool is_same;
        size_t part;
        int rank, alike;
    } rows[] = {
        {1, {{1, 2, 3}}, true, 0, 0, 0},
        {3, {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}, true, 0, 0, 0},
        {3, {{1, 2, 3}, {1, 9, 8}, {1, 2, 3}}, false, 1, 1, 2},
        {3, {{7, 2, 3}, {1, 2, 3}, {1, 2, 9}}, false, 0, 0, 2},
        {4, {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 4}}, false, 2, 3, 3},
        {5, {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 4}, {1, 2, 5}}, false, 2, 3, 3},
        {2, {{1, 2, 3}, {1, 2, 4}}, false, 2, -1, 1},
        {4, {{1, 2, 3}, {2, 2, 3}, {1, 2, 3}, {2, 2, 3}}, false, 0, -1, 2},
        {3, {{1, 2, 3}, {2, 2, 3}, {3, 2, 3}}, false, 0, -1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct compare_found found = {0};
        CHECK_INT(compare_find(rows[i].all[0], rows[i].ranks, PARTS, 0, PARTS, &found),
                  rows[i].is_same);
        CHECK(found.part == rows[i].part);
        CHECK_INT(found.rank, rows[i].rank);
        CHECK_INT(found.alike, rows[i].alike);
    }
}

static void test_a_range(void) {
    static const uint32_t all[2][PARTS] = {{1, 2, 3}, {9, 2, 8}};
    struct compare_found found;
    CHECK(compare_find(all[0], 2, PARTS, 1, 2, &found));
    CHECK(!compare_find(all[0], 2, PARTS, 1, 3, &found) && found.part == 2);
}

int main(void) {
    TEST(test_who_differs);
    TEST(test_a_range);
    return TEST_END();
}
