// SPDX-License-Identifier: Apache-2.0
#include "lib/tree.h"

#include "tests/test.h"

static void test_paths(void) {
    struct error err = {0};
    const char *text = "{\"a\":{\"b\":[{\"c\":7},{\"d\":\"x\"}]},\"t\":true,\"n\":1.5}";
    AUTO(tree_freep) json_t *tree = NULL;
    CHECK_OK(tree_parse(text, strlen(text), 1000, &tree, &err), &err);
    CHECK_INT(tree_integer(tree, "a.b[0].c", -1), 7);
    CHECK_STR(tree_text(tree, "a.b[1].d", "none"), "x");
    CHECK_STR(tree_text(tree, "a.b[2].d", "none"), "none");
    CHECK_STR(tree_text(tree, "a.b[0].c", "none"), "none");
    CHECK(tree_bool(tree, "t", false));
    CHECK(tree_get(tree, "a.b[") == NULL);
    CHECK(tree_get(tree, "a..b") == NULL);
    CHECK(tree_get(NULL, "a") == NULL);
}

static void test_parse_refuses(void) {
    static const char *const texts[] = {"", "{", "{\"a\":1,\"a\":2}", "[1,]", "nul"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        json_t *tree = NULL;
        CHECK_INT(tree_parse(texts[i], strlen(texts[i]), 1000, &tree, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(tree == NULL);
    }
    struct error err = {0};
    json_t *tree = NULL;
    CHECK_INT(tree_parse("[1,2,3]", 7, 6, &tree, &err), -1);
}

/* 20 MiB of empty lists would take 5 GB. */
static void test_parse_bounds_memory(void) {
    struct error err = {0};
    size_t size = (20 << 20) / 3 * 3 + 1;
    json_t *tree = NULL;
    AUTO(text_freep) char *text = x_malloc(size);
    text[0] = '[';
    for (size_t i = 1; i < size; i += 3) {
        memcpy(text + i, "[],", 3);
    }
    memcpy(text + size - 3, "[]]", 3);
    CHECK_INT(tree_parse(text, size, size, &tree, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(tree == NULL);
    CHECK(strstr(err.text, "MiB of memory, at most 2048 are allowed"));
    /* In a string they take nothing more. */
    error_clear(&err);
    memset(text, '[', size);
    memcpy(text, "\"\\\",", 4);
    text[size - 1] = '"';
    AUTO(tree_freep) json_t *string = NULL;
    CHECK_OK(tree_parse(text, size, size, &string, &err), &err);
    CHECK_INT(json_string_length(string), size - 3);
}

static void check_written(json_t *value_new) {
    AUTO(tree_freep)
    json_t *tree = json_pack("{s:[O, {s:O, s:i}], s:n, s:b, s:b, s:{}}", "b", value_new, "é",
                             value_new, "a\"\\", -7, "n", "t", true, "f", false, "o");
    for (int i = 0; i < 40; i++) {
        AUTO(text_freep) char *key = x_printf("%c%d", 'z' - i % 26, i * i);
        json_object_set(tree, key, value_new);
    }
    AUTO(text_freep) char *compact = tree_compact(tree), *sorted = tree_canonical(tree);
    AUTO(text_freep) char *theirs = json_dumps(tree, JSON_COMPACT);
    AUTO(text_freep) char *theirs_sorted = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
    CHECK_STR(compact, theirs);
    CHECK_STR(sorted, theirs_sorted);
    json_decref(value_new);
}

/* Hashes of specs are made of this text: it is jansson's. */
static void test_texts_are_those_of_jansson(void) {
    static const char *const texts[] = {"",   "plain", "\x01", "\t", "\"",
                                        "\\", "/",     "\x7f", "é",  "\u2028"};
    static const double reals[] = {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, 123456789.125, 1e17};
    static const long long integers[] = {0, -1, 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        check_written(json_string(texts[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(reals); i++) {
        check_written(json_real(reals[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(integers); i++) {
        check_written(json_integer(integers[i]));
    }
    check_written(json_stringn("a\0b", 3));
    AUTO(text_freep) char *none = tree_compact(NULL), *null = tree_canonical(json_null());
    CHECK_STR(none, "null");
    CHECK_STR(null, "null");
}

static void test_canonical_is_stable(void) {
    AUTO(tree_freep) json_t *a = json_pack("{s:i,s:s}", "b", 1, "a", "x");
    AUTO(tree_freep) json_t *b = json_pack("{s:s,s:i}", "a", "x", "b", 1);
    AUTO(text_freep) char *text_a = tree_canonical(a);
    AUTO(text_freep) char *text_b = tree_canonical(b);
    CHECK_STR(text_a, "{\"a\":\"x\",\"b\":1}");
    CHECK_STR(text_b, text_a);
}

int main(void) {
    TEST(test_paths);
    TEST(test_parse_refuses);
    TEST(test_parse_bounds_memory);
    TEST(test_texts_are_those_of_jansson);
    TEST(test_canonical_is_stable);
    return TEST_END();
}
