// SPDX-License-Identifier: Apache-2.0
/* A row from its key to its result; the numbers of rows over leases. */
#include "agent/data/rows/row_head.h"
#include "agent/data/rows/row_line.h"
#include "agent/data/rows/row_places.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <stdlib.h>

/* The line without its newline, or the message. */
static void check_line(const char *head, const char *record, const char *json, const char *wanted) {
    struct error err = {0};
    AUTO(tree_freep) json_t *tree = record ? parse(record) : NULL;
    AUTO(buffer_release) struct buffer out;
    buffer_init(&out, 1 << 20);
    struct row_line line = {.head = head,
                            .has_name = record || strstr(json, "a.csv:9"),
                            .record = tree,
                            .json = json,
                            .json_size = json ? strlen(json) : 0};
    int result = row_line_add(&line, &out, &err);
    if (result == 0 && out.size > 0) {
        CHECK(out.data[out.size - 1] == '\n');
        out.data[out.size - 1] = 0;
    }
    CHECK_STR(result < 0 ? err.text : out.data, wanted);
}

static void test_lines(void) {
    check_line("\"k\":1", NULL, "0.10", "{\"k\":1,\"result\":0.10}");
    check_line("\"k\":1", NULL, "\"a b\"", "{\"k\":1,\"result\":\"a b\"}");
    check_line("\"k\":1", NULL, " { \"a\" : [ 1 , 2 ] } ", "{\"k\":1,\"a\":[1,2]}");
    check_line("\"k\":1", NULL, "{ }", "{\"k\":1}");
    check_line("", NULL, "{\"a\":1}", "{\"a\":1}");
    check_line("", NULL, "null", "{\"result\":null}");
    check_line("\"k\":1", NULL, "{\"file\":\"a.csv:9\",\"v\":[0.1,2]}", "{\"k\":1,\"v\":[0.1,2]}");
    check_line("\"k\":1", NULL, "{\"file\":\"a\"}", "{\"k\":1,\"file\":\"a\"}");
    check_line("\"k\":1", "{\"file\":\"a.csv:9\",\"values\":[0.5]}", NULL,
               "{\"k\":1,\"value\":0.5}");
    check_line("\"k\":1", "{\"file\":\"a\",\"values\":[0.5,null]}", NULL,
               "{\"k\":1,\"values\":[0.5,null]}");
    check_line("\"k\":1",
               "{\"file\":\"a\",\"classes\":[{\"index\":3,\"label\":\"cat\",\"score\":0.75}]}",
               NULL, "{\"k\":1,\"index\":3,\"label\":\"cat\",\"score\":0.75}");
    check_line("\"k\":1", "{\"classes\":[{\"index\":3,\"score\":1.0},{\"index\":4,\"score\":0.5}]}",
               NULL,
               "{\"k\":1,\"index\":3,\"score\":1.0,\"classes\":[{\"index\":3,\"score\":1.0},{"
               "\"index\":4,\"score\":0.5}]}");
    /* 0.1 is not a float, 0.100000001490116 is one. */
    check_line("", "{\"a\":0.1,\"b\":0.10000000149011612,\"c\":true,\"d\":{\"e\":[\"x\\n\"]}}",
               NULL,
               "{\"a\":0.10000000000000001,\"b\":0.100000001,\"c\":true,\"d\":{\"e\":[\"x\\n\"]}}");
}

static void test_names_that_are_twice(void) {
    check_line("\"k\":1", NULL, "{\"k\":2}",
               "a result has the member \"k\", which is also a column of the key, of "
               "spec.output.columns or of the result: name it otherwise");
    check_line("\"k\":1", NULL, "{\"\\u006b\":2}",
               "a result has the member \"\\u006b\", which is also a column of the key, of "
               "spec.output.columns or of the result: name it otherwise");
    check_line("\"value\":1", "{\"values\":[1.0]}", NULL,
               "a result has the member \"value\", which is also a column of the key, of "
               "spec.output.columns or of the result: name it otherwise");
    check_line("", NULL, "{\"a\":1,\"b\":1,\"a\":2}",
               "a result has the member \"a\", which is also a column of the key, of "
               "spec.output.columns or of the result: name it otherwise");
}

static void check_names(const char *spec, const char *wanted) {
    AUTO(tree_freep) json_t *tree = parse(spec);
    AUTO(tree_freep) json_t *names = row_heads_names(tree);
    AUTO(text_freep) char *seen = json_dumps(names, JSON_COMPACT);
    CHECK_STR(seen, wanted);
}

static void test_the_key(void) {
    check_names("{\"input\":{\"table\":{}},\"output\":{\"format\":\"CSV\"}}", "[\"file\",\"row\"]");
    check_names("{\"input\":{\"npy\":{}},\"output\":{\"format\":\"CSV\"}}", "[\"file\",\"row\"]");
    check_names("{\"input\":{\"files\":{}},\"output\":{\"format\":\"CSV\"}}", "[\"file\"]");
    check_names("{\"input\":{\"video\":{}},\"output\":{\"format\":\"CSV\"}}", "[\"frame\"]");
    check_names("{\"input\":{\"table\":{\"partitionKeys\":[\"shop\"]}},\"output\":{\"format\":"
                "\"CSV\",\"columns\":[\"a\"]}}",
                "[\"shop\",\"a\"]");
    check_names("{\"input\":{\"table\":{}},\"output\":{\"format\":\"CSV\",\"key\":[\"id\"],"
                "\"columns\":[\"a\",\"file\"]}}",
                "[\"id\",\"a\",\"file\"]");
}

static void check_head(const char *table, const char *json, const char *wanted) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:o},s:{s:s,s:[s],s:[s]}}", "input", "table", parse(table),
                             "output", "format", "CSV", "key", "id", "columns", "a \"b\"");
    struct row_heads *heads = row_heads_new(spec);
    struct row_place place = {.file = "x.csv", .json = json, .json_size = strlen(json)};
    AUTO(buffer_release) struct buffer head;
    buffer_init(&head, 1 << 20);
    row_heads_start(heads);
    row_heads_see(heads, &place);
    int result = row_heads_add(heads, &place, &head, &err);
    CHECK_STR(result < 0 ? err.text : head.data, wanted);
    row_heads_free(heads);
}

static void test_columns_of_the_input(void) {
    check_head("{}", "{\"x\":1,\"id\":\"7\",\"a \\\"b\\\"\": [ 1, 2 ]}",
               "\"id\":\"7\",\"a \\\"b\\\"\":[1,2]");
    check_head("{}", "{\"id\":\"7\"}",
               "has no column \"a \\\"b\\\"\", which spec.output.key or columns names");
    check_head("{\"format\":\"JSONLines\"}", "{\"id\":\"7\"}", "\"id\":\"7\",\"a \\\"b\\\"\":null");
    check_head("{\"format\":\"JSONLines\"}", "[7]",
               "has no column \"id\", which spec.output.key or columns names");
}

/* A lease's part: rows of files, of which those with a '!' have failed. */
static void add_part(struct buffer *parts, const char *const *rows) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *spec = parse("{\"input\":{\"table\":{}},\"output\":{\"format\":\"CSV\"}}");
    struct row_heads *heads = row_heads_new(spec);
    row_heads_start(heads);
    for (; *rows; rows++) {
        AUTO(text_freep) char *file = x_strndup(*rows, 1);
        struct row_place place = {.file = file, .row = -1};
        row_heads_see(heads, &place);
        if ((*rows)[1] == '!') {
            continue;
        }
        CHECK_OK(buffer_append(parts, "{", 1, &err), &err);
        CHECK_OK(row_heads_add(heads, &place, parts, &err), &err);
        CHECK_OK(buffer_append(parts, "}\n", 2, &err), &err);
    }
    CHECK_OK(row_heads_end(heads, parts, &err), &err);
    row_heads_free(heads);
}

static void test_numbers_over_leases(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer parts;
    AUTO(buffer_release) struct buffer scratch;
    AUTO(buffer_release) struct buffer seen;
    AUTO(row_places_release) struct row_places places = {0};
    buffer_init(&parts, 1 << 20);
    buffer_init(&scratch, 1 << 20);
    buffer_init(&seen, 1 << 20);
    add_part(&parts, (const char *const[]){"a", "a!", "a", NULL});       /* 0, 2 */
    add_part(&parts, (const char *const[]){"a", "a!", "b!", "b", NULL}); /* a 3; b 1 */
    CHECK_OK(buffer_append(&parts, "-\n", 2, &err), &err);               /* b: five rows failed */
    add_part(&parts, (const char *const[]){"b", "c", "d!", NULL});       /* b 7; c 0 */
    add_part(&parts, (const char *const[]){"d", NULL});                  /* d 1 */
    for (char *line = parts.data, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        const char *row = line;
        size_t size = (size_t)(end - line);
        if (*line == '-') {
            row_places_skip(&places, "b", 5);
            continue;
        }
        int found = row_places_line(&places, &scratch, &row, &size, &err);
        CHECK(found >= 0);
        if (found > 0) {
            CHECK_OK(buffer_printf(&seen, &err, "%.*s ", (int)size, row), &err);
        }
    }
    CHECK_STR(seen.data, "{\"file\":\"a\",\"row\":0} {\"file\":\"a\",\"row\":2} "
                         "{\"file\":\"a\",\"row\":3} {\"file\":\"b\",\"row\":1} "
                         "{\"file\":\"b\",\"row\":7} {\"file\":\"c\",\"row\":0} "
                         "{\"file\":\"d\",\"row\":1} ");
}

static void test_other_lines(void) {
    static const char *const lines[] = {
        "",
        "{}",
        "{\"file\":\"a\"}",
        "{\"file\":\"a\",\"row\":}",
        "{\"file\":\"a\",\"row\":-1}",
        "{\"file\":\"a\",\"row\":1",
        "{\"file\":\"a\",\"row\":9999999999999999999}",
        "[",
        "[1,2]",
        "[\"a\"]",
        "[\"a\",",
        "[\"a\",x]",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct error err = {0};
        AUTO(buffer_release) struct buffer scratch;
        AUTO(row_places_release) struct row_places places = {0};
        const char *line = lines[i];
        size_t size = strlen(line);
        buffer_init(&scratch, 1 << 20);
        CHECK_INT(row_places_line(&places, &scratch, &line, &size, &err), -1);
        CHECK_STR(err.text, "a part holds a line that is not a row with its place");
    }
}

int main(void) {
    TEST(test_lines);
    TEST(test_names_that_are_twice);
    TEST(test_the_key);
    TEST(test_columns_of_the_input);
    TEST(test_numbers_over_leases);
    TEST(test_other_lines);
    return TEST_END();
}
