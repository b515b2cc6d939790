// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/string_table.h"

#include "lib/arena.h"
#include "tests/test.h"

static void test_a_text_has_one_number(void) {
    struct arena arena = {0};
    struct string_table *strings = string_table_new(&arena);
    char name[32];
    CHECK_INT(string_table_find(strings, "", 0), -1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10000; i++) {
            int size = snprintf(name, sizeof name, "%d", i * 7);
            CHECK_INT(string_table_add(strings, name, (size_t)size), i);
        }
    }
    CHECK_INT(string_table_find(strings, "70000", 5), -1);
    CHECK_INT(string_table_find(strings, "69993", 5), 9999);
    CHECK_INT(string_table_find(strings, "69993", 4), -1); /* 6999 is not a multiple of 7 ... */
    CHECK_INT(string_table_find(strings, "69993", 2), -1); /* ... nor 69, but 6993 and 693 are */
    CHECK_INT(string_table_add(strings, "", 0), 10000);
    CHECK_INT(string_table_add(strings, "a\0b", 3), 10001);
    CHECK_INT(string_table_find(strings, "a", 1), -1);
    CHECK_INT(string_table_find(strings, "", 0), 10000);
    struct attribute_string text = string_table_at(strings, 10001);
    CHECK(text.size == 3 && memcmp(text.bytes, "a\0b", 3) == 0);
    text = string_table_at(strings, 3);
    CHECK(text.size == 2 && memcmp(text.bytes, "21", 2) == 0);
    arena_release(&arena);
}

int main(void) {
    TEST(test_a_text_has_one_number);
    return TEST_END();
}
