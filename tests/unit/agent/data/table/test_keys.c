// SPDX-License-Identifier: Apache-2.0
/* Tables by key: keys as bytes (row_key.h), the lines of a listing, the rows that a worker gets.
 * tests/e2e/score/test_table.sh has whole jobs. */
#include "agent/data/kinds/table.h"
#include "agent/data/table/keys.h"
#include "agent/data/table/row_key.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/data/table/tables.h"
#include "tests/unit/agent/spec_defaults.h"

enum { TEXT_MAX = 1 << 20, VALUES_MAX = 6 };

/* ---- keys ----------------------------------------------------------------------------------- */

struct value {
    char bytes[VALUES_MAX]; /* bytes of a text */
    size_t size;
};

static struct value random_value(void) {
    static const char letters[] = {0, 1, 2, 'a', 'b', '"'};
    struct value value = {.size = table_random(VALUES_MAX)};
    for (size_t i = 0; i < value.size; i++) {
        value.bytes[i] = letters[table_random(sizeof letters)];
    }
    return value;
}

static int compare_values(const struct value *a, const struct value *b) {
    int order = memcmp(a->bytes, b->bytes, MIN(a->size, b->size));
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_keys(const struct buffer *a, const struct buffer *b) {
    int order = memcmp(a->data, b->data, MIN(a->size, b->size));
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int sign(int number) {
    return (number > 0) - (number < 0);
}

/* {"b":second,"x":1,"a":first}, written by jansson. */
static char *row_of(const struct value values[static 2]) {
    AUTO(tree_freep)
    json_t *row = json_pack("{s:s%,s:i,s:s%}", "b", values[1].bytes, values[1].size, "x", 1, "a",
                            values[0].bytes, values[0].size);
    return json_dumps(row, JSON_COMPACT);
}

static void test_keys_are_in_the_order_of_their_values(void) {
    struct error err = {0};
    AUTO(row_key_columns_release) struct row_key_columns columns = {0};
    CHECK_OK(row_key_column(&columns, "a", &err), &err);
    CHECK_OK(row_key_column(&columns, "b", &err), &err);
    struct buffer keys[2], text;
    buffer_init(&keys[0], 1000);
    buffer_init(&keys[1], 1000);
    buffer_init(&text, 1000);
    table_random_start(test_seed(7), 0);
    for (uint64_t round = 0; round < table_rounds(3000) && !test_failures; round++) {
        struct value values[2][2];
        for (int i = 0; i < 2; i++) {
            values[i][0] = random_value();
            values[i][1] = random_value();
            AUTO(text_freep) char *row = row_of(values[i]);
            CHECK_OK(row_key_make(&columns, row, strlen(row), &keys[i], &err), &err);
            buffer_clear(&text);
            CHECK_OK(row_key_write(&text, keys[i].data, keys[i].size, &err), &err);
            AUTO(tree_freep) json_t *back = json_loads(text.data, JSON_ALLOW_NUL, NULL);
            AUTO(tree_freep)
            json_t *wanted = json_pack("[s%,s%]", values[i][0].bytes, values[i][0].size,
                                       values[i][1].bytes, values[i][1].size);
            CHECK(json_equal(back, wanted));
        }
        int order = compare_values(&values[0][0], &values[1][0]);
        order = order ? order : compare_values(&values[0][1], &values[1][1]);
        CHECK_INT(sign(compare_keys(&keys[0], &keys[1])), sign(order));
        bool is_prefix =
            keys[0].size < keys[1].size && memcmp(keys[0].data, keys[1].data, keys[0].size) == 0;
        CHECK(!is_prefix);
    }
    buffer_release(&keys[0]);
    buffer_release(&keys[1]);
    buffer_release(&text);
}

static void test_values_are_taken_as_they_are_written(void) {
    static const char *const rows[][2] = {
        {"{\"a\":1,\"b\":\"x\"}", "[1,\"x\"]"},
        {" {\"b\" : [1, 2] , \"a\" : 1.0}", "[1.0,[1, 2]]"},
        {"{\"\\u0061\":\"\\u00e4\",\"c\":{\"a\":3}}", "[\"ä\",null]"},
        {"{\"a\":1,\"a\":\"2\"}", "[\"2\",null]"},
        {"{\"a\":\"\\ud800\"}", "[\"\\ud800\",null]"},
        {"{}", "[null,null]"},
        {"[1]", "null"},
        {"\"a\"", "null"},
        {NULL, "null"},
    };
    struct error err = {0};
    AUTO(row_key_columns_release) struct row_key_columns columns = {0};
    CHECK_OK(row_key_column(&columns, "a", &err), &err);
    CHECK_OK(row_key_column(&columns, "b", &err), &err);
    struct buffer key, text;
    buffer_init(&key, 100);
    buffer_init(&text, 100);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *row = rows[i][0];
        CHECK_OK(row_key_make(&columns, row, row ? strlen(row) : 0, &key, &err), &err);
        buffer_clear(&text);
        CHECK_OK(row_key_write(&text, key.data, key.size, &err), &err);
        CHECK_STR(text.data, rows[i][1]);
    }
    AUTO(text_freep) char *wide = x_printf("{\"a\":\"%0200d\"}", 0);
    CHECK_INT(row_key_make(&columns, wide, strlen(wide), &key, &err), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    buffer_release(&key);
    buffer_release(&text);
}

/* ---- a listing ------------------------------------------------------------------------------ */

static void put(const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(file_basename(path) - path) - 1);
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static json_t *spec_of(const char *folder, const char *format) {
    return spec_fill(json_pack("{s:{s:{s:s,s:s,s:[s]}},s:{s:s}}", "input", "table", "path", folder,
                               "format", format, "partitionKeys", "k", "output", "path", "out/o"));
}

static int on_line(void *context, const char *line, size_t size, const char *cursor,
                   struct error *err UNUSED) {
    CHECK(cursor == NULL && size <= INPUT_LINE_MAX);
    json_array_append_new(context, json_loadb(line, size, 0, NULL));
    return 0;
}

/* The lines; NULL with *err when the listing fails. */
static json_t *list(const json_t *spec, struct error *err) {
    json_t *lines = json_array();
    AUTO(store_freep) struct store *store = NULL;
    CHECK_OK(store_open("out/o", /* writes= */ true, &store, err), err);
    struct input_listing listing = {
        .spec = spec, .scratch = store, .scratch_name = "list/run-", .kept_name = "list/key-"};
    if (table_media.lines->list(&listing, on_line, lines, err) == 0) {
        return lines;
    }
    json_decref(lines);
    return NULL;
}

/* For each line its key and the rows that a reader gives: `["a"] x:0 {...}; x:9 {...}\n`. */
static char *read_all(const json_t *spec, const json_t *lines, struct error *err) {
    const struct input_kind *kind = table_media.lines;
    struct input_reader *reader = NULL;
    struct buffer text;
    buffer_init(&text, TEXT_MAX);
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) {
        AUTO(tree_freep) json_t *lease = json_pack("[O]", line);
        AUTO(text_freep)
        char *key = json_dumps(json_object_get(line, "key"), JSON_COMPACT | JSON_ENCODE_ANY);
        CHECK_OK(buffer_printf(&text, err, "%s", key), err);
        CHECK_OK(kind->reader_open(spec, lease, &reader, err), err);
        struct item item;
        int got;
        while ((got = kind->reader_next(reader, &item, err)) > 0) {
            struct error ignored = {0};
            CHECK_OK(item.fault ? buffer_printf(&text, &ignored, " %s;", item.fault)
                                : buffer_printf(&text, &ignored, " %s %s;", item.name, item.text),
                     &ignored);
        }
        if (got < 0) {
            break;
        }
        CHECK_OK(buffer_printf(&text, err, "\n"), err);
    }
    kind->reader_free(reader);
    return buffer_take(&text, NULL);
}

static void test_rows_of_one_key_are_one_line(void) {
    struct error err = {0};
    put("lines/a.x", "{\"k\":\"b\",\"n\":1}\n{\"k\":\"b\",\"n\":2}\n[3]\n{\"k\":2,\"n\":4}\n\n"
                     "{\"n\":5}\n{\"k\":\"b\",\"n\":6}");
    put("lines/b.x", "{\"k\":\"b\",\"n\":7}\nnone\n{\"k\":\"2\",\"n\":8}\n");
    AUTO(tree_freep) json_t *spec = spec_of("out/lines", "JSONLines");
    AUTO(tree_freep) json_t *lines = list(spec, &err);
    CHECK_STR(err.text, "");
    AUTO(text_freep) char *seen = read_all(spec, lines, &err);
    CHECK_STR(seen, "null a.x:32: is not an object with the members of "
                    "spec.input.table.partitionKeys; b.x:16: the line is not one JSON value;\n"
                    "[2] a.x:36 {\"k\":2,\"n\":4};\n"
                    "[null] a.x:51 {\"n\":5};\n"
                    "[\"2\"] b.x:21 {\"k\":\"2\",\"n\":8};\n"
                    "[\"b\"] a.x:0 {\"k\":\"b\",\"n\":1}; a.x:16 {\"k\":\"b\",\"n\":2}; "
                    "a.x:59 {\"k\":\"b\",\"n\":6}; b.x:0 {\"k\":\"b\",\"n\":7};\n");
    const json_t *last = json_array_get(lines, 4); /* adjacent rows are one range */
    CHECK_INT(json_array_size(json_array_get(json_object_get(last, "at"), 0)), 6);
}

/* Every second row: more ranges than fit into a line. */
static void test_many_ranges_are_an_object(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, TEXT_MAX);
    CHECK_OK(buffer_printf(&text, &err, "k,n\n"), &err);
    for (int i = 0; i < 12000; i++) {
        CHECK_OK(buffer_printf(&text, &err, "%s,%d\n", i % 2 ? "often" : "x", i), &err);
    }
    put("many/a.x", text.data);
    AUTO(tree_freep) json_t *spec = spec_of("out/many", "CSV");
    AUTO(tree_freep) json_t *lines = list(spec, &err);
    CHECK_STR(err.text, "");
    CHECK_INT(json_array_size(lines), 2);
    CHECK_STR(tree_text(json_array_get(lines, 0), "list", ""), "list/key-00000000");
    AUTO(tree_freep) json_t *again = list(spec, &err); /* another coordinator's: the same */
    CHECK(json_equal(lines, again));
    struct input_reader *reader = NULL;
    struct item item;
    int64_t rows = 0;
    CHECK_OK(table_media.lines->reader_open(spec, lines, &reader, &err), &err);
    while (table_media.lines->reader_next(reader, &item, &err) > 0) {
        AUTO(tree_freep) json_t *row = json_loads(item.text, 0, NULL);
        bool is_first = rows < 6000; /* "often" before "x" */
        AUTO(text_freep)
        char *number = x_printf("%lld", (long long)((rows++ % 6000) * 2 + is_first));
        CHECK_STR(tree_text(row, "n", ""), number);
    }
    CHECK_INT(rows, 12000);
    table_media.lines->reader_free(reader);
    put("o/list/key-00000000", "[[\"a.x\",\"t\",0,1]]"); /* another writer's */
    AUTO(text_freep) char *seen = read_all(spec, lines, &err);
    CHECK_STR(err.text,
              "spec.output.path: out/o/list/key-00000000 has changed since it was listed");
    error_clear(&err);
    AUTO(tree_freep) json_t *other = list(spec, &err);
    CHECK(!other);
    CHECK_STR(err.text, "spec.input.table.path: out/many: has changed since this run began to list "
                        "it: choose another output or, if none of its pods runs, delete "
                        "out/o/.windlass (windlass run --restart does)");
}

static void test_what_has_no_key_is_refused(void) {
    struct error err = {0};
    put("none/a.x", "a,b\n1,2\n");
    AUTO(tree_freep) json_t *spec = spec_of("out/none", "CSV");
    CHECK(list(spec, &err) == NULL);
    CHECK_STR(err.text, "spec.input.table.path: out/none/a.x: has no column \"k\" "
                        "(spec.input.table.partitionKeys), but [\"a\",\"b\"]");
    error_clear(&err);
    AUTO(text_freep) char *wide = x_printf("k\n%09000d\n", 0);
    put("wide/a.x", wide);
    AUTO(tree_freep) json_t *of_wide = spec_of("out/wide", "CSV");
    CHECK(list(of_wide, &err) == NULL);
    CHECK_STR(err.text, "spec.input.table.path: out/wide/a.x: the row at byte 2 has a key "
                        "(spec.input.table.partitionKeys) of more than 8 KiB");
}

static void test_leases_that_make_no_sense_are_refused(void) {
    static const char *const rows[] = {
        "[[\"a\",0,1,\"t\"]]",
        "[{}]",
        "[{\"at\":[]}]",
        "[{\"at\":[[]]}]",
        "[{\"at\":[[\"a\",\"t\"]]}]",
        "[{\"at\":[[\"a\",\"t\",0,1,2]]}]",
        "[{\"at\":[[\"a\",\"t\",1,1]]}]",
        "[{\"at\":[[\"\",\"t\",0,1]]}]",
        "[{\"list\":\"x\"}]",
    };
    AUTO(tree_freep) json_t *spec = spec_of("out/lines", "CSV");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *lines = json_loads(rows[i], 0, NULL);
        struct input_reader *reader = NULL;
        CHECK_INT(table_media.lines->reader_open(spec, lines, &reader, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

int main(void) {
    fixtures_start("keys");
    TEST(test_keys_are_in_the_order_of_their_values);
    TEST(test_values_are_taken_as_they_are_written);
    TEST(test_rows_of_one_key_are_one_line);
    TEST(test_many_ranges_are_an_object);
    TEST(test_what_has_no_key_is_refused);
    TEST(test_leases_that_make_no_sense_are_refused);
    return TEST_END();
}
