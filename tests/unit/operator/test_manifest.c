// SPDX-License-Identifier: Apache-2.0
#include "operator/manifest.h"

#include "lib/text/nearest.h"
#include "operator/scalar.h"
#include "tests/test.h"

#include <stdlib.h>

static int parse(const char *text, struct manifest **ret_manifest, struct error *err) {
    return manifest_parse("m.yaml", text, strlen(text), ret_manifest, err);
}

/* The YAML text as canonical JSON of its first document, or the error's text; without places the
 * same. */
static char *to_json(const char *text) {
    struct error err = {0}, bare_err = {0};
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    AUTO(manifest_freep) struct manifest *bare = NULL;
    CHECK_INT(manifest_parse_bare("m.yaml", text, strlen(text), &bare, &bare_err),
              parse(text, &manifest, &err));
    CHECK_STR(bare_err.text, err.text);
    if (!manifest || !bare) {
        return x_strdup(err.text);
    }
    CHECK_INT(bare->count, manifest->count);
    for (size_t i = 0; i < bare->count; i++) {
        CHECK(json_equal(bare->documents[i].tree, manifest->documents[i].tree));
        CHECK_INT(json_object_size(bare->documents[i].places), 0);
    }
    CHECK(!bare->cover);
    return manifest->count ? tree_canonical(manifest->documents[0].tree) : x_strdup("nothing");
}

static void test_values(void) {
    static const struct {
        const char *yaml, *wanted;
    } rows[] = {
        {"a: 1", "{\"a\":1}"},
        {"a: -7\nb: +7\nc: 0x1F\nd: 0", "{\"a\":-7,\"b\":7,\"c\":31,\"d\":0}"},
        {"a: 9223372036854775807", "{\"a\":9223372036854775807}"},
        {"a: 9223372036854775808",
         "m.yaml:1: 9223372036854775808: number too large; a string needs quotes"},
        {"a: 1.5\nb: .5\nc: 1e3", "{\"a\":1.5,\"b\":0.5,\"c\":1000.0}"},
        {"a: 1e999", "m.yaml:1: 1e999: number too large"},
        {"a: true\nb: False\nc: TRUE", "{\"a\":true,\"b\":false,\"c\":true}"},
        {"a:\nb: ~\nc: null", "{\"a\":null,\"b\":null,\"c\":null}"},
        {"a: \"1\"\nb: 'true'\nc: !!str 5", "{\"a\":\"1\",\"b\":\"true\",\"c\":\"5\"}"},
        {"a: 1.2.3\nb: 2026-11-21\nc: 8Gi\nd: 1x\ne: +\nf: .\ng: e5\nh: 1e",
         "{\"a\":\"1.2.3\",\"b\":\"2026-11-21\",\"c\":\"8Gi\",\"d\":\"1x\",\"e\":\"+\",\"f\":\".\","
         "\"g\":\"e5\",\"h\":\"1e\"}"},
        {"a: |\n  x\n  y\nb: >-\n  x\n  y", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}"},
        {"a: [1, {b: c}, []]", "{\"a\":[1,{\"b\":\"c\"},[]]}"},
        {"a: &x {b: [1]}\nc: *x\nd: [*x, *x]",
         "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]},\"d\":[{\"b\":[1]},{\"b\":[1]}]}"},
        {"{\"a\": \"\\u00e9\\n\"}", "{\"a\":\"é\\n\"}"},
        {"", "nothing"},
        {"# nothing\n---\n", "nothing"},
        {"\xEF\xBB\xBF"
         "a: 1",
         "{\"a\":1}"},
        {"1: a", "{\"1\":\"a\"}"},
        {"[a]: b", "m.yaml:1: the name of a field must be plain text"},
        {"on: b", "m.yaml:1: on: write it in quotes, YAML versions disagree"},
        {"a: 1\nb: 2\na: 3", "m.yaml:3: a: given twice"},
        {"a: 0b11",
         "m.yaml:1: 0b11: YAML versions disagree on it; write \"0b11\" for the text, or a "
         "plain decimal number"},
        {"a: {b: 1_000}", "m.yaml:1: 1_000: YAML versions disagree on it; write \"1_000\" for the "
                          "text, or a plain decimal number"},
        {"text", "m.yaml:1: a manifest is a list of fields: apiVersion, kind, ..."},
        {"a: \"\\xff\\0\"", "m.yaml:1: a text has a NUL character"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = to_json(rows[i].yaml);
        CHECK_STR(seen, rows[i].wanted);
    }
}

static void test_not_yaml(void) {
    static const char *const texts[] = {"a: [",   "a: }",    "\ta: b",
                                        "a: \"x", "a: b: c", "%FOO",
                                        "\xff",   "a: *b",   "--- a\n...\nb: - c"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        struct manifest *manifest = NULL;
        CHECK_INT(parse(texts[i], &manifest, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(text_starts(err.text, "m.yaml:"));
    }
}

static void test_lines(void) {
    struct error err = {0};
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    const char *text =
        "# c\na:\n  b: 1\n  list:\n    - x: 1\n      dotted.key: 2\n    -\n      w: 2\n"
        "---\nz: 1\n";
    CHECK_OK(parse(text, &manifest, &err), &err);
    CHECK_INT(manifest->count, 2);
    static const struct {
        const char *field;
        int line;
    } rows[] = {
        {"a", 2},           {"a.b", 3},         {"a.list", 4},      {"a.list[0]", 5},
        {"a.list[0].x", 5}, {"a.list[1]", 8},   {"a.list[1].w", 8}, {"a.list[0][dotted.key]", 6},
        {"a.missing", 2},   {"a.list[9].x", 4}, {"nowhere.x", 2},   {"", 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(manifest_line(&manifest->documents[0], rows[i].field), rows[i].line);
    }
    CHECK_INT(manifest_line(&manifest->documents[1], "z"), 10);
    error_set(&err, ERROR_INVALID, "a.list[1].q: is missing");
    manifest_context(manifest, &manifest->documents[0], &err);
    CHECK_STR(err.text, "m.yaml:8: a.list[1].q: is missing");
}

/* Changing an alias must not change its anchor. */
static void test_aliases_are_copies(void) {
    struct error err = {0};
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    CHECK_OK(parse("a: &x {b: 1}\nc: *x", &manifest, &err), &err);
    json_t *tree = manifest->documents[0].tree;
    json_object_set_new(json_object_get(tree, "c"), "b", json_integer(2));
    CHECK_INT(tree_integer(tree, "a.b", 0), 1);
}

static char *repeat(const char *text, size_t count) {
    size_t length = strlen(text);
    char *all = x_malloc(length * count + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(all + i * length, text, length);
    }
    all[length * count] = 0;
    return all;
}

static void test_limits(void) {
    AUTO(text_freep) char *big = repeat("# comment\n", 110000);
    AUTO(text_freep) char *values = repeat("- 1\n", MANIFEST_NODES_MAX + 1);
    AUTO(text_freep) char *documents = repeat("a: 1\n---\n", MANIFEST_DOCUMENTS_MAX + 1);
    AUTO(text_freep) char *brackets = repeat("[", 100000);
    AUTO(text_freep) char *long_text = repeat("x", 400000);
    AUTO(text_freep) char *copies = x_printf("a: &a %s\nb: [*a, *a, *a]", long_text);
    /* Nested anchors: every level doubles the size, and adds one level of depth. */
    AUTO(text_freep) char *nested = x_printf("a0: &a0 [x]\n");
    for (int i = 1; i < 60; i++) {
        AUTO(text_freep) char *before = nested;
        nested = x_printf("%sa%d: &a%d [*a%d]\n", before, i, i, i - 1);
    }
    const char *const texts[] = {big, values, documents, brackets, copies, nested};
    const char *const says[] = {"a manifest has at most",       "more than 20000 values",
                                "more than 16 documents",       "nested too deeply",
                                "aliases copy more than 1 MiB", "nested too deeply"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        struct manifest *manifest = NULL;
        CHECK_INT(parse(texts[i], &manifest, &err), -1);
        if (!strstr(err.text, says[i])) {
            CHECK_STR(err.text, says[i]);
        }
    }
}

static void test_nearest(void) {
    AUTO(tree_freep)
    json_t *fields =
        json_pack("{s:i, s:i, s:i, s:i}", "input", 1, "miniBatchSize", 1, "workers", 1, "a", 1);
    static const struct {
        const char *word, *wanted;
    } rows[] = {
        {"inputs", "input"},
        {"imput", "input"},
        {"MiniBatchSize", "miniBatchSize"},
        {"batchSize", "miniBatchSize"},
        {"worker", "workers"},
        {"output", NULL},
        {"volumes", NULL},
        {"xyz", NULL},
        {"b", "a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *near = nearest_key(fields, rows[i].word);
        if (rows[i].wanted) {
            CHECK_STR(near, rows[i].wanted);
        } else {
            CHECK(near == NULL);
        }
    }
    CHECK(nearest_key(NULL, "x") == NULL);
}

int main(void) {
    TEST(test_values);
    TEST(test_not_yaml);
    TEST(test_lines);
    TEST(test_aliases_are_copies);
    TEST(test_limits);
    TEST(test_nearest);
    return TEST_END();
}
