// SPDX-License-Identifier: Apache-2.0
#include "lib/error.h"
#include "lib/text/utf8.h"

#include "tests/test.h"

#include <errno.h>

static void test_first_error_wins(void) {
    struct error err = {0};
    CHECK_INT(error_set(&err, ERROR_INVALID, "spec.%s is %d", "workers", 0), -1);
    CHECK_INT(error_set(&err, ERROR_BUG, "later"), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "spec.workers is 0");
}

static void test_context_is_prepended(void) {
    struct error err = {0};
    error_set(&err, ERROR_NOT_FOUND, "no such file");
    CHECK_INT(error_context(&err, "model %s", "m.onnx"), -1);
    CHECK_STR(err.text, "model m.onnx: no such file");
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
}

static void test_errno_chooses_the_kind(void) {
    static const struct {
        int number;
        enum error_kind kind;
    } rows[] = {{ENOENT, ERROR_NOT_FOUND}, {EACCES, ERROR_DENIED},       {ENOSPC, ERROR_EXHAUSTED},
                {EEXIST, ERROR_CONFLICT},  {EIO, ERROR_UNAVAILABLE},     {ETIMEDOUT, ERROR_TIMEOUT},
                {EROFS, ERROR_DENIED},     {ENOTCONN, ERROR_UNAVAILABLE}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        error_from_errno(&err, rows[i].number, "open");
        CHECK_INT(err.kind, rows[i].kind);
        CHECK(strstr(err.text, strerror(rows[i].number)) != NULL);
    }
}

static void test_message_stays_one_bounded_line(void) {
    struct error err = {0};
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    longer[3] = '\n';
    error_set(&err, ERROR_INVALID, "%s", longer);
    CHECK(strlen(err.text) < sizeof err.text);
    CHECK(strchr(err.text, '\n') == NULL);
    CHECK(text_ends(err.text, "..."));
    error_context(&err, "outer");
    CHECK(text_starts(err.text, "outer: xxx"));
}

static void test_cut_keeps_whole_characters(void) {
    for (int shift = 0; shift < 4; shift++) {
        struct error err = {0};
        char text[1300] = "abc";
        text[shift] = 0;
        for (int i = 0; i < 300; i++) {
            strncat(text, "\xF0\x9F\x8E\xA8", 5);
        }
        error_set(&err, ERROR_INVALID, "%s", text);
        size_t end = strlen(err.text) - 3;
        CHECK_INT((end - (size_t)shift) % 4, 0);
    }
}

/* Characters of 2, 3 and 4 bytes, cut by a precision at each of their bytes; and one of Latin-1. */
static void test_half_characters_are_no_harm(void) {
    static const char *const texts[] = {"aää", "€uro €", "😀 😀", "caf\xE9 au lait"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        for (int cut = 1; cut <= (int)strlen(texts[i]); cut++) {
            struct error err = {0};
            error_set(&err, ERROR_FAILED, "%.*s; the rest", cut, texts[i]);
            CHECK_INT(utf8_valid_size(err.text, strlen(err.text)), strlen(err.text));
            CHECK_INT(strlen(err.text), (size_t)cut + strlen("; the rest"));
        }
    }
}

static void test_exit_codes(void) {
    struct error err = {0};
    CHECK_INT(error_exit_code(&err), 0);
    static const int wanted[ERROR_KIND_COUNT] = {
        [ERROR_INVALID] = 2, [ERROR_CANCELLED] = 130, [ERROR_FAILED] = 1};
    for (int kind = 1; kind < ERROR_KIND_COUNT; kind++) {
        err.kind = (enum error_kind)kind;
        CHECK_INT(error_exit_code(&err), wanted[kind] ? wanted[kind] : 3);
        CHECK(error_kind_name(err.kind)[0] != 0);
    }
}

int main(void) {
    TEST(test_first_error_wins);
    TEST(test_context_is_prepended);
    TEST(test_errno_chooses_the_kind);
    TEST(test_message_stays_one_bounded_line);
    TEST(test_cut_keeps_whole_characters);
    TEST(test_half_characters_are_no_harm);
    TEST(test_exit_codes);
    return TEST_END();
}
