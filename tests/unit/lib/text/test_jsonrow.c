// SPDX-License-Identifier: Apache-2.0
#include "lib/text/jsonrow.h"

#include "lib/text/jsontext.h"
#include "tests/test.h"

#include <stdlib.h>

/* Reads a list of one value as a text, an integer or a tree, whatever jansson says that it is; the
 * same must come of it. is_refused: by jansson. */
static void check_value(const char *list) {
    size_t size = strlen(list);
    char *exact = x_malloc(size), *room = x_malloc(size); /* a sanitizer sees what is outside */
    memcpy(exact, list, size);
    json_t *tree = json_loadb(list, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *value = json_array_size(tree) == 1 ? json_array_get(tree, 0) : NULL;
    struct jsonrow row;
    jsonrow_begin(&row, exact, exact + size, room);
    if (json_is_string(value)) {
        size_t length = 0;
        const char *text = jsonrow_text(&row, &length);
        CHECK_INT(length, json_string_length(value));
        CHECK(memcmp(text, json_string_value(value), length + 1) == 0);
    } else if (json_is_integer(value)) {
        CHECK_INT(jsonrow_integer(&row), json_integer_value(value));
    } else if (value) {
        json_t *again = jsonrow_tree(&row);
        CHECK(json_equal(value, again));
        json_decref(again);
    } else if (jsonrow_peek(&row) == '"') {
        size_t length = 0;
        (void)jsonrow_text(&row, &length);
    } else if (jsonrow_peek(&row) != ']') {
        (void)jsonrow_integer(&row);
    }
    const char *end = jsonrow_end(&row);
    bool is_whole = end && jsontext_space(end, exact + size) == exact + size;
    if (is_whole != (value || (tree && json_array_size(tree) == 0))) {
        CHECK_STR(is_whole ? "accepted" : "refused", list);
    }
    json_decref(tree);
    free(exact);
    free(room);
}

static void test_jansson_says_the_same(void) {
    static const char *const lists[] = {
        "[]",
        "[ ]",
        "[1]",
        "[ 1 ]",
        "[0]",
        "[-0]",
        "[-1]",
        "[01]",
        "[-]",
        "[+1]",
        "[1,]",
        "[,1]",
        "[9223372036854775807]",
        "[-9223372036854775808]",
        "[\"\"]",
        "[\"a\"]",
        "[\"a]",
        "[\"a\"",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
        "[\"\\u00e4\\u20AC\"]",
        "[\"\\ud83d\\ude00 x\"]",
        "[\"\\ud83d\"]",
        "[\"\\ude00\"]",
        "[\"\\ud83d\\u0041\"]",
        "[\"\\ud83dx\"]",
        "[\"\\u0000\"]",
        "[\"\\u12\"]",
        "[\"\\u12g4\"]",
        "[\"\\x\"]",
        "[\"a\nb\"]",
        "[\"\x1f\"]",
        "[\"\x7f\"]",
        "[\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"]",
        "[\"\xFF\"]",
        "[\"\xED\xA0\x80\"]",
        "[\"\xE2\x82\"]",
        "[\"12345678\\n12345678\xC3\xA4 1234567\"]",
        "[[1,{\"a\":2}]]",
        "[{\"a\":1,\"a\":2}]",
        "[1 2]",
        "[1]]",
        "[\"a\"]x",
        "[",
        "]",
        "",
        "1",
    };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        check_value(lists[i]);
    }
}

/* Values from left to right, and what is behind them. */
static void test_a_list(void) {
    static const char list[] = " [ \"a\\n\" ,-7, [1, 2],\"b\"] rest";
    char room[sizeof list];
    struct jsonrow row;
    size_t first = 0, last = 0;
    jsonrow_begin(&row, list + 1, list + strlen(list), room);
    const char *text = jsonrow_text(&row, &first);
    CHECK_INT(jsonrow_integer(&row), -7);
    CHECK_INT(jsonrow_peek(&row), '[');
    CHECK_INT(jsonrow_peek(&row), '[');
    json_t *tree = jsonrow_tree(&row);
    CHECK_INT(json_array_size(tree), 2);
    CHECK(!jsonrow_end(&row));
    CHECK_STR(jsonrow_text(&row, &last), "b");
    CHECK_STR(text, "a\n"); /* it stays */
    CHECK_STR(jsonrow_end(&row), " rest");
    json_decref(tree);
}

static void test_a_bad_row_stays_bad(void) {
    static const char *const lists[] = {"[1, \"a\", 2]", "[9223372036854775808, 1]", "[1.5, 1]",
                                        "[1e2, 1]", "[true, 1]"};
    char room[64];
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct jsonrow row;
        size_t size = 1;
        jsonrow_begin(&row, lists[i], lists[i] + strlen(lists[i]), room);
        (void)jsonrow_integer(&row);
        CHECK_INT(jsonrow_integer(&row), 0);
        CHECK(row.is_bad);
        CHECK_STR(jsonrow_text(&row, &size), "");
        CHECK_INT(size, 0);
        CHECK(!jsonrow_tree(&row));
        CHECK(!jsonrow_end(&row));
    }
}

static void test_numbers_have_limits(void) {
    static const struct {
        const char *list;
        int64_t most;
        bool is_good;
    } cases[] = {{"[7]", 7, true}, {"[8]", 7, false}, {"[0]", 0, true}, {"[-1]", 7, false}};
    char room[8];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct jsonrow row;
        const char *list = cases[i].list;
        jsonrow_begin(&row, list, list + strlen(list), room);
        CHECK_INT(jsonrow_number(&row, cases[i].most), cases[i].is_good ? cases[i].most : 0);
        CHECK_INT(!row.is_bad, cases[i].is_good);
    }
}

int main(void) {
    TEST(test_jansson_says_the_same);
    TEST(test_a_list);
    TEST(test_a_bad_row_stays_bad);
    TEST(test_numbers_have_limits);
    return TEST_END();
}
