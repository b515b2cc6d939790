// SPDX-License-Identifier: Apache-2.0
/* What programs said last is told, whatever bytes it is and wherever it is cut. */
#include "agent/launch/last.h"
#include "agent/launch/message.h"
#include "tests/test.h"

static void five_lines_are_one(void) {
    struct last last = {0};
    char words[LAST_WORDS_MAX];
    for (const char *at = "0\n1\n2\r\n3\n\x1b[31m4\n5\n"; *at; at++) {
        last_add(&last, at, 1);
    }
    last_words(&last, words);
    CHECK_STR(words, "1 | 2 | 3 | [31m4 | 5");
}

/* 511 bytes are kept, the first of them whole or the second half of a character. */
static void it_begins_with_a_whole_character(void) {
    for (size_t after = 1; after < 3; after++) {
        struct last last = {0};
        char words[LAST_WORDS_MAX];
        for (int i = 0; i < 400; i++) {
            last_add(&last, "\xc3\xa4", 2);
        }
        last_add(&last, "bc", after);
        last_words(&last, words);
        CHECK(text_starts(words, "\xc3\xa4\xc3\xa4") && !strchr(words, '?'));
        CHECK(strlen(words) > 500);
    }
}

/* What says why stands at the end: lines are left out at the front, whole. */
static void the_end_is_never_cut(void) {
    char line[200], words[LAST_WORDS_MAX];
    for (int wide = 1; wide < 180; wide++) {
        struct last last = {0};
        for (int i = 0; i < 5; i++) {
            int size = snprintf(line, sizeof line, "<%d%0*d>\n", i, wide, 0);
            last_add(&last, line, (size_t)size);
        }
        last_add(&last, "why\n", 4);
        last_words(&last, words);
        CHECK(words[0] == '<' && strlen(words) >= 6 &&
              !strcmp(words + strlen(words) - 6, " | why"));
        CHECK(words[1] == '1' || strlen(words) + (size_t)wide + 6 >= LAST_WORDS_MAX);
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
        struct last last = {0};
        char words[LAST_WORDS_MAX];
        for (size_t k = 0; k < rows[i].letters; k++) {
            last_add(&last, "x", 1);
        }
        last_add(&last, rows[i].end, strlen(rows[i].end));
        last_words(&last, words);
        size_t size = strlen(words), wanted = strlen(rows[i].words);
        CHECK(size >= wanted && !strcmp(words + size - wanted, rows[i].words));
        CHECK(size == (rows[i].words[0] != 'x' ? wanted : MIN(rows[i].letters + 3, 511)));
    }
}

static void a_byte_that_is_no_text_is_one_question_mark(void) {
    struct last last = {0};
    char words[LAST_WORDS_MAX];
    last_add(&last,
             "Stra\xdf"
             "e: 7\n",
             10);
    last_words(&last, words);
    CHECK_STR(words, "Stra?e: 7");
}

/* Cut by whoever wrote it. */
static void words_are_heard_whatever_they_are(void) {
    struct gang_message message = {.type = MESSAGE_EXITED, .rank = 1, .code = 7}, heard;
    struct error err = {0};
    snprintf(message.words, sizeof message.words, "%.8s", "f\xfcr 12\xc3\xa4");
    AUTO(text_freep) char *text = gang_message_write(&message);
    CHECK_OK(gang_message_read(text, strlen(text), &heard, &err), &err);
    CHECK_STR(heard.words, "f?r 12\xc3\xa4");
    gang_message_release(&heard);
    message.words[7] = 0;
    AUTO(text_freep) char *cut = gang_message_write(&message);
    CHECK_OK(gang_message_read(cut, strlen(cut), &heard, &err), &err);
    CHECK_STR(heard.words, "f?r 12?");
    CHECK_INT(heard.code, 7);
    gang_message_release(&heard);
}

int main(void) {
    TEST(five_lines_are_one);
    TEST(it_begins_with_a_whole_character);
    TEST(the_end_is_never_cut);
    TEST(empty_lines_are_none);
    TEST(a_byte_that_is_no_text_is_one_question_mark);
    TEST(words_are_heard_whatever_they_are);
    return TEST_END();
}
