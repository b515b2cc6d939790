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
        {"a\xE2\x80\xAE", "a\xE2\x80\xAE", "a???"},
        {"\xE2\x80\x8F\xD8\x9C", "\xE2\x80\x8F\xD8\x9C", "?????"},
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

static void test_codes(void) {
    static const struct {
        const char *text;
        unsigned code;
        bool is_deceptive;
    } rows[] = {
        {"a", 'a', false},
        {"\xC3\xA4", 0xE4, false},
        {"\xD8\x9C", 0x61C, true},
        {"\xE2\x80\x8D", 0x200D, false},
        {"\xE2\x80\x8E", 0x200E, true},
        {"\xE2\x80\x8F", 0x200F, true},
        {"\xE2\x80\x90", 0x2010, false},
        {"\xE2\x80\xA7", 0x2027, false},
        {"\xE2\x80\xA8", 0x2028, true},
        {"\xE2\x80\xAE", 0x202E, true},
        {"\xE2\x80\xAF", 0x202F, false},
        {"\xE2\x81\xA5", 0x2065, false},
        {"\xE2\x81\xA6", 0x2066, true},
        {"\xE2\x81\xA9", 0x2069, true},
        {"\xE2\x81\xAA", 0x206A, false},
        {"\xF0\x9F\x98\x80", 0x1F600, false},
        {"\xF4\x8F\xBF\xBF", 0x10FFFF, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(utf8_character(rows[i].text, strlen(rows[i].text)), strlen(rows[i].text));
        CHECK_INT(utf8_code(rows[i].text, strlen(rows[i].text)), rows[i].code);
        CHECK(utf8_is_deceptive(rows[i].code) == rows[i].is_deceptive);
    }
}

int main(void) {
    TEST(test_bytes_before_the_first_invalid_one);
    TEST(test_repair_and_make_line);
    TEST(test_codes);
    return TEST_END();
}
