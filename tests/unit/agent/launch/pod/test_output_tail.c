// SPDX-License-Identifier: Apache-2.0
/* The end of a program's output, for any bytes and any cut: bounded, and without control
 * characters. */
#include "agent/launch/pod/output_tail.h"
#include "lib/text/utf8.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

static void five_lines_are_one(void) {
    struct output_tail tail = {0};
    char words[OUTPUT_TAIL_LINE_MAX];
    for (const char *at = "0\n1\n2\r\n3\n\x1b[31m4\n5\n"; *at; at++) {
        output_tail_add(&tail, at, 1);
    }
    output_tail_line(&tail, words);
    CHECK_STR(words, "1 | 2 | 3 | [31m4 | 5");
}

static void a_long_help_keeps_its_beginning(void) {
    struct output_tail tail = {0};
    char words[OUTPUT_TAIL_LINE_MAX];
    const char *help = "it: invalid option\nUsage: it FILE\n1\n2\n3\n4\n5\n6\n7\n";
    output_tail_add(&tail, help, strlen(help));
    output_tail_line(&tail, words);
    CHECK_STR(words, "Usage: it FILE | 3 | 4 | 5 | 6 | 7");
    for (int i = 0; i < 490; i++) {
        output_tail_add(&tail, "x", 1);
    }
    output_tail_add(&tail, "\n", 1);
    output_tail_line(&tail, words); /* no room: the last line says more */
    CHECK(strlen(words) < OUTPUT_TAIL_LINE_MAX && words[0] == 'x');
}

static void an_error_of_the_trainer_stands_alone(void) {
    struct output_tail tail = {0};
    char words[OUTPUT_TAIL_LINE_MAX];
    const char *output = "epoch 1\nwindlass-trainer train: rank 0 of 2: no space left\n";
    output_tail_add(&tail, output, strlen(output));
    output_tail_line(&tail, words);
    CHECK_STR(words, "windlass-trainer train: rank 0 of 2: no space left");
    output_tail_add(&tail, "more\n", 5);
    output_tail_line(&tail, words);
    CHECK_STR(words, "epoch 1 | windlass-trainer train: rank 0 of 2: no space left | more");
}

/* 511 bytes are kept; the first is a whole character or the second half of one. */
static void it_begins_with_a_whole_character(void) {
    for (size_t after = 1; after < 3; after++) {
        struct output_tail tail = {0};
        char words[OUTPUT_TAIL_LINE_MAX];
        for (int i = 0; i < 400; i++) {
            output_tail_add(&tail, "\xc3\xa4", 2);
        }
        output_tail_add(&tail, "bc", after);
        output_tail_line(&tail, words);
        CHECK(text_starts(words, "\xc3\xa4\xc3\xa4") && !strchr(words, '?'));
        CHECK(strlen(words) > 500);
    }
}

/* The reason is at the end: whole lines are dropped from the front. */
static void the_end_is_never_cut(void) {
    char line[200], words[OUTPUT_TAIL_LINE_MAX];
    for (int wide = 1; wide < 180; wide++) {
        struct output_tail tail = {0};
        for (int i = 0; i < 5; i++) {
            int size = snprintf(line, sizeof line, "<%d%0*d>\n", i, wide, 0);
            output_tail_add(&tail, line, (size_t)size);
        }
        output_tail_add(&tail, "why\n", 4);
        output_tail_line(&tail, words);
        CHECK(words[0] == '<' && strlen(words) >= 6 &&
              !strcmp(words + strlen(words) - 6, " | why"));
        CHECK(words[1] == '1' || strlen(words) + (size_t)wide + 6 >= OUTPUT_TAIL_LINE_MAX);
    }
}

static void empty_lines_are_none(void) {
    static const struct {
        size_t letters;
        const char *end, *words;
    } rows[] = {{0, "why\n\n", "why"},
                {0, "\n\none\n\n\r\ntwo\n\n\n\n\n\n", "one | two"},
                {506, "why\n\n", "xwhy"},
                {600, "why\n\n", "xwhy"},
                {5000, "\nwhy\n\n\n\n\n\n\n\n", "why"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct output_tail tail = {0};
        char words[OUTPUT_TAIL_LINE_MAX];
        for (size_t k = 0; k < rows[i].letters; k++) {
            output_tail_add(&tail, "x", 1);
        }
        output_tail_add(&tail, rows[i].end, strlen(rows[i].end));
        output_tail_line(&tail, words);
        size_t size = strlen(words), wanted = strlen(rows[i].words);
        CHECK(size >= wanted && !strcmp(words + size - wanted, rows[i].words));
        CHECK(size == (rows[i].words[0] != 'x' ? wanted : MIN(rows[i].letters + 3, 511)));
    }
}

static void a_byte_that_is_no_text_is_one_question_mark(void) {
    struct output_tail tail = {0};
    char words[OUTPUT_TAIL_LINE_MAX];
    output_tail_add(&tail,
                    "Stra\xdf"
                    "e: 7\n",
                    10);
    output_tail_line(&tail, words);
    CHECK_STR(words, "Stra?e: 7");
}

static void check_tail(const char *text, size_t size, const char *wanted) {
    char tail[OUTPUT_TAIL_TEXT_BYTES + 1];
    output_tail_text(text, size, tail);
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
        {"\xe2\x82\xac \xed\xa0\x80", "\xe2\x82\xac ???"}, /* a surrogate is not a character */
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
        char text[4096], tail[OUTPUT_TAIL_TEXT_BYTES + 1];
        size_t size = (size_t)(test_random(&seed) % sizeof text);
        uint64_t sides = 1 + test_random(&seed) % 256;
        for (size_t i = 0; i < size; i++) {
            uint64_t dice = test_random(&seed);
            text[i] = (char)(dice % 40 == 0 ? '\n' : dice / 40 % sides + 256 - sides);
        }
        memset(tail, 'x', sizeof tail);
        output_tail_text(text, size, tail);
        size_t length = strnlen(tail, sizeof tail);
        int lines = length > 0;
        CHECK(length <= OUTPUT_TAIL_TEXT_BYTES);
        CHECK_INT(utf8_valid_size(tail, length), length);
        for (size_t i = 0; i < length; i++) {
            unsigned char byte = (unsigned char)tail[i];
            lines += byte == '\n';
            CHECK((byte >= ' ' && byte != 127) || byte == '\n');
            CHECK(byte != '\n' || (i > 0 && i + 1 < length && tail[i + 1] != '\n'));
        }
        CHECK(lines <= OUTPUT_TAIL_TEXT_LINES);
        if (test_failures) {
            return;
        }
    }
}

static void a_long_line_pushes_nothing_out(void) {
    char text[5000], tail[OUTPUT_TAIL_TEXT_BYTES + 1];
    memset(text, 'y', sizeof text);
    memcpy(text, "first\n", 6);
    memcpy(text + sizeof text - 6, "\nlast\n", 6);
    output_tail_text(text, sizeof text, tail);
    CHECK(text_starts(tail, "first\nyyy") && text_ends(tail, "yyy\nlast"));
}

int main(void) {
    TEST(five_lines_are_one);
    TEST(a_long_help_keeps_its_beginning);
    TEST(an_error_of_the_trainer_stands_alone);
    TEST(it_begins_with_a_whole_character);
    TEST(the_end_is_never_cut);
    TEST(empty_lines_are_none);
    TEST(a_byte_that_is_no_text_is_one_question_mark);
    TEST(the_last_lines_are_shown);
    TEST(any_bytes_are_tidy);
    TEST(a_long_line_pushes_nothing_out);
    return TEST_END();
}
