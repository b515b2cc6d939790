// SPDX-License-Identifier: Apache-2.0
#include "lib/tree.h"

#include "lib/tree_read.h"
#include "tests/seed.h"
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

/* Whatever the bytes are: what jansson makes of them. Returns whether that is a tree. */
static bool check_loaded(const char *text, size_t size) {
    json_error_t wanted_problem, problem;
    AUTO(tree_freep) json_t *wanted = json_loadb(text, size, JSON_ALLOW_NUL, &wanted_problem);
    AUTO(tree_freep) json_t *tree = tree_load(text, size, &problem);
    if (!wanted && strstr(wanted_problem.text, "too big")) {
        return false; /* test_large_integers_are_reals */
    }
    AUTO(text_freep) char *wanted_text = tree_compact(wanted);
    AUTO(text_freep) char *tree_text = tree_compact(tree);
    CHECK_STR(tree_text, wanted_text); /* with the same order */
    CHECK((!tree && !wanted) || json_equal(tree, wanted));
    if (!wanted) {
        CHECK_STR(problem.text, wanted_problem.text);
    }
    return wanted != NULL;
}

static const char *const loaded[] = {
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"labels\":{\"windlass.dev/"
    "job\":\"b\"}},\"n\":[1,-2,"
    "0,-0,true,false,null]}",
    " { \"a\" : [ ] , \"b\" : { } ,\n\t\"a\" : 2 }\r\n ",
    "[\"\\\"\\\\\\/"
    "\\b\\f\\n\\r\\t\",\"{\\\"x\\\":1}\",\"\\u00e9\\ud83d\\ude00\",\"\\u0000\",\"\xc3\xa9 "
    "\xe2\x82\xac\"]",
    "[1.5,-2e3,1E+2,0.1,123456789012345678,999999999999999999,9223372036854775807,-"
    "9223372036854775808]",
    "{\"\\u0061\":1,\"a\\n\":2,\"\":3}",
    "[[[[[[]]]],{\"a\":[{}]}]]",
    "[01]",
    "[1e999]",
    "[\"\\ud800\"]",
    "[\"\\x\"]",
    "[\"a\nb\"]",
    "[\"\xff\"]",
    "[\"\\\xc3\xa9\"]",
    "[\"a",
    "[\"a\\",
    "[1,]",
    "{\"a\" 1}",
    "{\"a\":1,}",
    "{,}",
    "[1 2]",
    "[tru]",
    "[nulls]",
    "[-]",
    "[+1]",
    "[.5]",
    "[1.]",
    "[] []",
    "1",
    "\"a\"",
    "",
    " ",
    "{",
    "]",
};

/* As Go writes 1e20: in an object of anybody it must not end the list of all. */
static void test_large_integers_are_reals(void) {
    static const char text[] = "{\"a\":[100000000000000000000,-9223372036854775809,7]}";
    json_error_t problem;
    AUTO(tree_freep) json_t *tree = tree_load(text, strlen(text), &problem);
    json_t *list = json_object_get(tree, "a");
    CHECK(json_real_value(json_array_get(list, 0)) == 1e20);
    CHECK(json_real_value(json_array_get(list, 1)) == -9223372036854775809.0);
    CHECK_INT(json_integer_value(json_array_get(list, 2)), 7);
}

static void test_loaded_as_by_jansson(void) {
    int trees = 0;
    for (size_t i = 0; i < ARRAY_LEN(loaded); i++) {
        trees += check_loaded(loaded[i], strlen(loaded[i]));
    }
    CHECK_INT(trees, 6);
    CHECK(check_loaded("[\"a\0b\"]", 7) == false);
    for (size_t depth = 250; depth < 3000; depth += depth < 260 ? 1 : 700) {
        AUTO(text_freep) char *deep = x_malloc(2 * depth);
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        CHECK(check_loaded(deep, 2 * depth) == (depth <= 2048));
    }
}

static void test_loaded_as_by_jansson_from_any_bytes(void) {
    static const char bytes[] = "{}[]\",:\\0189-+.eEtfnu \n\t\xc3\xa9\x80\xf0\0ab";
    uint64_t random = test_seed(1);
    int64_t rounds = test_rounds(20000), trees = 0;
    for (int64_t i = 0; i < rounds; i++) {
        const char *from = loaded[test_below(&random, ARRAY_LEN(loaded))];
        size_t size = strlen(from), changes = test_below(&random, 3);
        AUTO(text_freep) char *text = x_malloc(size + 1);
        memcpy(text, from, size + 1);
        for (size_t k = 0; k < changes && size > 0; k++) {
            text[test_below(&random, size)] = bytes[test_below(&random, sizeof bytes - 1)];
        }
        trees += check_loaded(text, test_below(&random, 8) ? size : test_below(&random, size + 1));
    }
    CHECK(trees > rounds / 50);
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
    TEST(test_large_integers_are_reals);
    TEST(test_loaded_as_by_jansson);
    TEST(test_loaded_as_by_jansson_from_any_bytes);
    TEST(test_paths);
    TEST(test_parse_refuses);
    TEST(test_parse_bounds_memory);
    TEST(test_texts_are_those_of_jansson);
    TEST(test_canonical_is_stable);
    return TEST_END();
}
