// SPDX-License-Identifier: Apache-2.0
#include "lib/text/utf8.h"

#include "tests/test.h"

#include <string.h>

static void test_bytes_before_the_first_invalid_one(void) {
    static const struct {
        const char *text;
        size_t end;
    } rows[] = {
        {"", 0},
        {"plain text of ASCII", 19},
        {"1234567\xC3\xA4", 9},
        {"12345678\xC3", 8},
        {"\x80", 0},
        {"a\xC1\xBF", 1},
        {"\xE0\x9F\xBF", 0},
        {"\xE0\xA0\x80", 3},
        {"\xED\x9F\xBF", 3},
        {"\xED\xA0\x80", 0},
        {"\xF0\x8F\xBF\xBF", 0},
        {"\xF0\x90\x80\x80", 4},
        {"\xF4\x8F\xBF\xBF", 4},
        {"\xF5\x80\x80\x80", 0},
        {"\xF0\x90\x80"
         "a",
         0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(utf8_valid_size(rows[i].text, strlen(rows[i].text)), rows[i].end);
    }
}

static void test_repair_and_make_line(void) {
    static const struct {
        const char *text, *repaired, *line;
    } rows[] = {
        {"", "", ""},
        {"a\tb\n", "a\tb\n", "a b "},
        {"\xC3\xA4\xC3", "\xC3\xA4?", "\xC3\xA4?"},
        {"\xE0\x9F\xBFx", "???x", "???x"},
        {"a\x7F\xC2\x85z", "a\x7F\xC2\x85z", "a   z"},
        {"\xC2\xA0", "\xC2\xA0", "\xC2\xA0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[16];
        snprintf(text, sizeof text, "%s", rows[i].text);
        utf8_repair(text);
        CHECK_STR(text, rows[i].repaired);
        snprintf(text, sizeof text, "%s", rows[i].text);
        utf8_make_line(text);
        CHECK_STR(text, rows[i].line);
    }
}

int main(void) {
    TEST(test_bytes_before_the_first_invalid_one);
    TEST(test_repair_and_make_line);
    return TEST_END();
}
