// SPDX-License-Identifier: Apache-2.0
/* What people are shown of what a program said: its end, bounded, and nothing a terminal obeys. */
#include "agent/score/wire/tail.h"

#include "lib/text/utf8.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

static void check_tail(const char *text, size_t size, const char *wanted) {
    char tail[TAIL_BYTES + 1];
    tail_format(text, size, tail);
    CHECK_STR(tail, wanted);
}

static void the_last_lines_are_shown(void) {
    static const struct {
        const char *text, *tail;
    } rows[] = {
        {"", ""},
        {"\n \n\t\n", ""},
        {"one", "one"},
        {"one\n", "one"},
        {"\n\none\n\n  two\n \n", "one\n  two"},
        {"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"},
        {"\033[31mred\033[0m\r\n", " [31mred [0m"},
        {"tab\there\x7f!", "tab here !"},
        {"\xc3\xbc and \xc2\x9b", "\xc3\xbc and"}, /* a control character of two bytes */
        {"\xff\xfe\xe2\x82", "????"},
        {"\xe2\x82\xac \xed\xa0\x80", "\xe2\x82\xac ???"}, /* a surrogate is none */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_tail(rows[i].text, strlen(rows[i].text), rows[i].tail);
    }
    check_tail("a\0b\n", 4, "a b");
}

/* Any bytes: bounded, UTF-8, ten lines, none of them empty. */
static void any_bytes_are_tidy(void) {
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[4096], tail[TAIL_BYTES + 1];
        size_t size = (size_t)(test_random(&seed) % sizeof text);
        uint64_t sides = 1 + test_random(&seed) % 256;
        for (size_t i = 0; i < size; i++) {
            uint64_t dice = test_random(&seed);
            text[i] = (char)(dice % 40 == 0 ? '\n' : dice / 40 % sides + 256 - sides);
        }
        memset(tail, 'x', sizeof tail);
        tail_format(text, size, tail);
        size_t length = strnlen(tail, sizeof tail);
        int lines = length > 0;
        CHECK(length <= TAIL_BYTES);
        CHECK_INT(utf8_valid_size(tail, length), length);
        for (size_t i = 0; i < length; i++) {
            unsigned char byte = (unsigned char)tail[i];
            lines += byte == '\n';
            CHECK((byte >= ' ' && byte != 127) || byte == '\n');
            CHECK(byte != '\n' || (i > 0 && i + 1 < length && tail[i + 1] != '\n'));
        }
        CHECK(lines <= TAIL_LINES);
        if (test_failures) {
            return;
        }
    }
}

static void a_long_line_pushes_nothing_out(void) {
    char text[5000], tail[TAIL_BYTES + 1];
    memset(text, 'y', sizeof text);
    memcpy(text, "first\n", 6);
    memcpy(text + sizeof text - 6, "\nlast\n", 6);
    tail_format(text, sizeof text, tail);
    CHECK(text_starts(tail, "first\nyyy") && text_ends(tail, "yyy\nlast"));
}

int main(void) {
    TEST(the_last_lines_are_shown);
    TEST(any_bytes_are_tidy);
    TEST(a_long_line_pushes_nothing_out);
    return TEST_END();
}
