// SPDX-License-Identifier: Apache-2.0
#include "lib/text/jsontext.h"

#include "tests/test.h"

#include <jansson.h>
#include <stdlib.h>

static bool is_value(const char *text, size_t size) {
    char *exact = x_malloc(size); /* so that a sanitizer sees reads past the end */
    if (size) {
        memcpy(exact, text, size);
    }
    bool result = jsontext_is_value(exact, size);
    free(exact);
    return result;
}

static const char *const good[] = {
    "0",
    "-0",
    "12",
    "-1.5e+3",
    "1E9",
    "0.0e-0",
    "\"\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[1 , [2] ,{\"a\" : null}]",
    "true",
    "false",
    "null",
    " \t\r\n1 \t\r\n",
    "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\"",
    "{\"a\":1,\"a\":2}",
    "1e999999",
    "123456789012345678901234567890",
};
static const char *const bad[] = {
    "",
    " ",
    "01",
    "-",
    "+1",
    ".5",
    "1.",
    "1e",
    "1e+",
    "--1",
    "NaN",
    "Infinity",
    "nul",
    "truefalse",
    "\"",
    "\"\\\"",
    "\"\\x\"",
    "\"\\u12g4\"",
    "\"\\u12",
    "\"a\nb\"",
    "\"\x1F\"",
    "'a'",
    "[",
    "]",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{",
    "{\"a\"}",
    "{\"a\":}",
    "{a:1}",
    "{\"a\":1,}",
    "{1:2}",
    "[}",
    "{]",
    "1 2",
    "{}{}",
    "\"\xFF\"",
    "\"\xC0\x80\"",
    "\"\xED\xA0\x80\"",
    "\"\xF4\x90\x80\x80\"",
    "\"\xE2\x82\"",
    "\xEF\xBB\xBF"
    "1",
    "/**/1",
};

static void test_the_grammar_of_rfc_8259(void) {
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (!is_value(good[i], strlen(good[i]))) {
            CHECK_STR("refused", good[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (is_value(bad[i], strlen(bad[i]))) {
            CHECK_STR("accepted", bad[i]);
        }
    }
    CHECK(!is_value("1\0", 2));
    CHECK(!is_value("\"\\\0\"", 4));
}

static void test_depth_is_bounded(void) {
    static char deep[2 << 20];
    for (int depth = JSONTEXT_DEPTH_MAX; depth <= JSONTEXT_DEPTH_MAX + 1; depth++) {
        memset(deep, '[', (size_t)depth);
        memset(deep + depth, ']', (size_t)depth);
        CHECK_INT(is_value(deep, 2 * (size_t)depth), depth < JSONTEXT_DEPTH_MAX + 1);
    }
    memset(deep, '[', sizeof deep);
    CHECK(!is_value(deep, sizeof deep));
}

/* Random texts from the characters of JSON: jansson decides, except for texts that we accept on
 * purpose. */
static void test_jansson_says_the_same(void) {
    static const char *const words[] = {
        "{",    "}",    "[", "]",  ",",  ":",  "\"a\"", "\"b\\n\"", "1",        "-2.5",
        "true", "null", " ", "\"", "\\", "e3", ".",     "0",        "\xC3\xA4", "\xC3"};
    uint64_t state = 88172645463325252u;
    int agreed = 0;
    for (int round = 0; round < 200000; round++) {
        char text[64] = "";
        size_t size = 0;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t rest = state;
        for (int left = round % 9; left >= 0 && size < 50; left--, rest /= 37) {
            const char *word = words[rest % ARRAY_LEN(words)];
            memcpy(text + size, word, strlen(word));
            size += strlen(word);
        }
        json_t *tree = json_loadb(text, size, JSON_DECODE_ANY, NULL);
        if (is_value(text, size) != (tree != NULL)) {
            CHECK_STR(text, "what jansson thinks of it");
        }
        agreed += tree != NULL;
        json_decref(tree);
    }
    CHECK(agreed > 500); /* enough valid texts were among them */
}

static void test_one_value_after_another(void) {
    const char *text = "[1,2] \"a\"x", *end = text + strlen(text);
    const char *at = jsontext_value(text, end);
    CHECK(at == text + 5);
    at = jsontext_space(at, end);
    CHECK(at == text + 6);
    at = jsontext_value(at, end);
    CHECK(at == text + 9);
    CHECK(!jsontext_value(at, end));
    CHECK(!jsontext_value(end, end));
}

static void test_every_byte_is_escaped_so_that_it_comes_back(void) {
    char bytes[128];
    for (int i = 0; i < 128; i++) {
        bytes[i] = (char)i;
    }
    struct buffer json;
    struct error err = {0};
    buffer_init(&json, 1000);
    CHECK_OK(buffer_append(&json, "\"", 1, &err), &err);
    CHECK_OK(jsontext_escape(&json, bytes, sizeof bytes, &err), &err);
    CHECK_OK(buffer_append(&json, "\"", 1, &err), &err);
    json_t *tree = json_loadb(json.data, json.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    CHECK_INT(json_string_length(tree), sizeof bytes);
    CHECK(tree && memcmp(json_string_value(tree), bytes, sizeof bytes) == 0);
    json_decref(tree);
    buffer_release(&json);
    buffer_init(&json, 5);
    CHECK_INT(jsontext_escape(&json, "\x01", 1, &err), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    buffer_release(&json);
}

/* At each place of sixteen bytes, and behind them. */
static void test_what_is_plain(void) {
    for (int byte = 0; byte < 256; byte++) {
        bool is_plain = byte >= ' ' && byte < 0x80 && byte != '"' && byte != '\\';
        for (size_t at = 0; at < 35; at++) {
            char text[35];
            memset(text, 'x', sizeof text);
            text[at] = (char)byte;
            size_t plain = (size_t)(jsontext_plain(text, text + sizeof text) - text);
            CHECK_INT(plain, is_plain ? sizeof text : at);
        }
    }
}

int main(void) {
    TEST(test_the_grammar_of_rfc_8259);
    TEST(test_depth_is_bounded);
    TEST(test_jansson_says_the_same);
    TEST(test_one_value_after_another);
    TEST(test_what_is_plain);
    TEST(test_every_byte_is_escaped_so_that_it_comes_back);
    return TEST_END();
}
