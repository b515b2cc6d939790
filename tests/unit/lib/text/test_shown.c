// SPDX-License-Identifier: Apache-2.0
/* Text from outside, as it may be printed. */
#include "lib/text/shown.h"

#include "tests/test.h"

#include <stdlib.h>

static void check(const char *text, size_t size, const char *wanted) {
    AUTO(text_freep) char *shown = shown_text(text, size);
    CHECK_STR(shown, wanted);
}

static void test_what_is_shown(void) {
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"", ""},
        {"plain \t text, Größe, 日本, 🙂", "plain \t text, Größe, 日本, 🙂"},
        {"\x1B]0;title\x07", "\\x1B]0;title\\x07"},
        {"\x1B[2J\x1B[1;1H", "\\x1B[2J\\x1B[1;1H"},
        {"\x1B[1;32mgreen\x1B[0m \x1B[m", "green "},
        {"\x1B[", "\\x1B["},
        {"\x1B[31", "\\x1B[31"},
        {"\x1B[31\nm", "\\x1B[31 m"},
        {"10%\r20%", "10% 20%"},
        {"\xC2\x9B"
         "2J",
         "\\x9B2J"},       /* the C1 form of ESC [ */
        {"\x9B", "\\x9B"}, /* not UTF-8 */
        {"user\xE2\x80\xAEgpj.exe", "user\\u202Egpj.exe"},
        {"\xE2\x81\xA6x\xE2\x81\xA9", "\\u2066x\\u2069"},
        {"a\xE2\x80\xA8"
         "b",
         "a\\u2028b"},
        {"\xE2\x80", "\\xE2\\x80"},
        {"\x7F", "\\x7F"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(rows[i].text, strlen(rows[i].text), rows[i].shown);
    }
    check("a\0b", 3, "a\\x00b");
}

/* Any bytes: what is shown is UTF-8 that acts on nothing. */
static void test_any_bytes(void) {
    unsigned state = 1;
    for (int round = 0; round < 2000; round++) {
        char text[64];
        for (size_t i = 0; i < sizeof text; i++) {
            state = state * 1103515245u + 12345u;
            static const char common[] = "\x1B[;m0\xE2\x80\xAE\xC2\x9B\r\n\t\x7F";
            text[i] = state >> 30 ? common[(state >> 8) % sizeof common] : (char)(state >> 16);
        }
        AUTO(text_freep) char *shown = shown_text(text, sizeof text);
        AUTO(text_freep) char *again = shown_text(shown, strlen(shown));
        CHECK_STR(again, shown);
        for (const unsigned char *at = (const unsigned char *)shown; *at; at++) {
            CHECK(*at == '\t' || (*at >= ' ' && *at != 127));
        }
    }
}

int main(void) {
    TEST(test_what_is_shown);
    TEST(test_any_bytes);
    return TEST_END();
}
