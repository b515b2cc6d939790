// SPDX-License-Identifier: Apache-2.0
/* The input kind "table": blocks that tile each file, the rows that a worker gets (compared with
 * row_parser.h over the whole file), cursors, headers, refusals. tests/e2e/score/test_table.sh
 * compares the rows with Python's csv. */
#include "agent/data/kinds/table.h"
#include "agent/data/table/row_parser.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/data/kinds/told_lines.h"
#include "tests/unit/agent/data/parquet/made_parquet.h"
#include "tests/unit/agent/data/table/tables.h"

enum { ROUNDS = 60, TABLE_BYTES_MAX = 60000, TEXT_MAX = 4 << 20 };

static const char *const format_names[] = {"CSV", "TSV", "JSONLines"};

static json_t *spec_of(const char *path, const char *format, bool has_header) {
    return json_pack("{s:{s:{s:s,s:s,s:b,s:s}},s:i}", "input", "table", "path", path, "format",
                     format, "header", has_header, "pattern", "*.x", "miniBatchBytes", 1);
}

static void put_bytes(const char *name, const void *data, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(file_basename(path) - path) - 1);
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(path, data, size, &err), &err);
}

static void put(const char *name, const char *text) {
    put_bytes(name, text, strlen(text));
}

/* ---- listing and reading -------------------------------------------------------------------- */

static int list(const json_t *spec, const char *after, struct told *told, struct error *err) {
    return told_list(table_media.lines, spec, after, told, err);
}

static json_t *list_all(const json_t *spec) {
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = SIZE_MAX};
    CHECK_OK(list(spec, NULL, &told, &err), &err);
    return told.lines;
}

/* "NAME row\n" or "NAME: its fault\n" of all items; the folder is left out of names. */
static char *read_all(const json_t *spec, const json_t *lines) {
    const struct input_kind *kind = table_media.lines;
    struct error err = {0};
    struct input_reader *reader = NULL;
    struct buffer text;
    buffer_init(&text, TEXT_MAX);
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) { /* one lease per line */
        AUTO(tree_freep) json_t *lease = json_pack("[O]", line);
        CHECK_OK(kind->reader_open(spec, lease, &reader, &err), &err);
        struct item item;
        int got;
        while ((got = kind->reader_next(reader, &item, &err)) > 0) {
            CHECK_INT(item.type, ITEM_JSON);
            CHECK_OK(item.fault ? buffer_printf(&text, &err, "%s\n", item.fault)
                                : buffer_printf(&text, &err, "%s %s\n", item.name, item.text),
                     &err);
        }
        CHECK_INT(got, 0);
    }
    kind->reader_free(reader);
    return buffer_take(&text, NULL);
}

/* The same for one file without header, in one piece. */
static char *rows_of(enum split_format format, const char *name, const char *data, size_t size) {
    struct error err = {0};
    struct row_parser_options options = {.format = format, .row_bytes_max = ROW_BYTES_MAX};
    AUTO(row_parser_freep) struct row_parser *rows = NULL;
    AUTO(buffer_release) struct buffer json;
    struct buffer text;
    const char *fault = NULL;
    size_t bom = split_mark(data, size);
    buffer_init(&json, TEXT_MAX);
    buffer_init(&text, TEXT_MAX);
    CHECK_OK(row_parser_new(&options, &rows, &err), &err);
    row_parser_start(rows, (int64_t)bom);
    row_parser_add(rows, data + bom, size - bom);
    row_parser_end(rows);
    while (buffer_clear(&json), row_parser_next(rows, &json, &fault, &err) > 0) {
        CHECK_OK(buffer_printf(&text, &err, "%s:%lld%s %s\n", name,
                               (long long)row_parser_place(rows), fault ? ":" : "",
                               fault ? fault : json.data),
                 &err);
    }
    return buffer_take(&text, NULL);
}

/* Blocks of whole files, one after the other. */
static void check_tiles(const json_t *lines, const int64_t *firsts, const int64_t *sizes,
                        size_t files) {
    size_t i = 0, count = json_array_size(lines);
    for (size_t file = 0; file < files; file++) {
        int64_t at = firsts[file];
        while (at < sizes[file] && i < count) {
            const json_t *line = json_array_get(lines, i++);
            CHECK_INT(json_integer_value(json_array_get(line, 1)), at);
            int64_t end = json_integer_value(json_array_get(line, 2));
            CHECK(end > at);
            at = end;
        }
        CHECK_INT(at, sizes[file]);
    }
    CHECK_INT(i, count);
}

static size_t make_table(char *data) {
    size_t size = 1 + table_random(TABLE_BYTES_MAX - 3);
    if (table_random(3) == 0) {
        memcpy(data, "\xEF\xBB\xBF", 3);
        table_noise(data + 3, size);
        return size + 3;
    }
    table_noise(data, size);
    return size;
}

/* With a row a block: the same rows, and one of them in each block. */
static void check_single_rows(const json_t *spec, const char *wanted) {
    AUTO(tree_freep) json_t *single = json_deep_copy(spec);
    json_object_set_new(single, "miniBatchBytes", json_integer(0));
    AUTO(tree_freep) json_t *lines = list_all(single);
    AUTO(text_freep) char *seen = read_all(single, lines);
    CHECK(strcmp(seen, wanted) == 0);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        AUTO(tree_freep) json_t *one = json_pack("[O]", json_array_get(lines, i));
        AUTO(text_freep) char *row = read_all(single, one);
        const char *end = strchr(row, '\n');
        CHECK(end && !end[1]);
    }
}

static void one_round(uint64_t round) {
    table_random_start(test_seed(7), round);
    enum split_format format = (enum split_format)table_random(3);
    char *data[2] = {x_malloc(TABLE_BYTES_MAX), x_malloc(TABLE_BYTES_MAX)};
    int64_t sizes[2], firsts[2];
    AUTO(text_freep) char *wanted = x_strdup("");
    static const char *const names[] = {"a/\xc3\xa4.x", "b.x"};
    for (size_t i = 0; i < 2; i++) {
        sizes[i] = (int64_t)make_table(data[i]);
        firsts[i] = (int64_t)split_mark(data[i], (size_t)sizes[i]);
        AUTO(text_freep) char *path = x_printf("noise/%s", names[i]);
        put_bytes(path, data[i], (size_t)sizes[i]);
        AUTO(text_freep) char *rows = rows_of(format, names[i], data[i], (size_t)sizes[i]);
        AUTO(text_freep) char *before = TAKE(wanted);
        wanted = x_printf("%s%s", before, rows);
    }
    AUTO(tree_freep) json_t *spec = spec_of("out/noise", format_names[format], false);
    AUTO(tree_freep) json_t *lines = list_all(spec);
    check_tiles(lines, firsts, sizes, 2);
    AUTO(text_freep) char *seen = read_all(spec, lines);
    CHECK(strcmp(seen, wanted) == 0);
    if (test_samples(round, ROUNDS, 3, test_day())) { /* a file is opened for each row */
        check_single_rows(spec, wanted);
    }
    /* Broken anywhere, it continues with the same lines. */
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = 1 + table_random(json_array_size(lines))};
    (void)!list(spec, NULL, &told, &err);
    error_clear(&err);
    AUTO(text_freep) char *cursor = x_strdup(told.cursor);
    told.stop = SIZE_MAX;
    CHECK_OK(list(spec, cursor, &told, &err), &err);
    CHECK(json_equal(told.lines, lines));
    json_decref(told.lines);
    free(data[0]);
    free(data[1]);
}

static void test_every_row_once_and_in_order(void) {
    uint64_t rounds = table_rounds(ROUNDS);
    for (uint64_t round = 0; round < rounds && !test_failures; round++) {
        one_round(round);
        if (test_failures) {
            printf("# SOAK_SEED=%llu, round %llu\n", (unsigned long long)test_seed(7),
                   (unsigned long long)round);
        }
    }
}

static void test_rows_have_their_columns_and_places(void) {
    put("shops/a.x", "\xEF\xBB\xBFname,\"a,ge\"\r\nAda,36\n\n\"O\"\"x\nford\",7,8\nB\xff,1\n");
    put("shops/b.x", "name,\"a,ge\"\nBob,\"");
    put("shops/c.x", "name,\"a,ge\"\n");
    put("shops/other.txt", "no table");
    AUTO(tree_freep) json_t *spec = spec_of("out/shops", "CSV", true);
    AUTO(tree_freep) json_t *lines = list_all(spec);
    CHECK_INT(json_array_size(lines), 2);
    AUTO(text_freep) char *seen = read_all(spec, lines);
    CHECK_STR(seen, "a.x:16 {\"name\":\"Ada\",\"a,ge\":\"36\"}\n"
                    "a.x:24: 3 fields, the header has 2\n"
                    "a.x:40: invalid UTF-8 at byte 1 of the row\n"
                    "b.x:12: a quote is not closed in field 2\n");
    AUTO(tree_freep) json_t *one = spec_of("out/shops/a.x", "CSV", true); /* a file, not a folder */
    AUTO(tree_freep) json_t *its_lines = list_all(one);
    CHECK_INT(json_array_size(its_lines), 1);
    AUTO(text_freep) char *rows = read_all(one, its_lines);
    CHECK_INT(strncmp(seen, rows, strlen(rows)), 0);
    AUTO(tree_freep) json_t *named = spec_of("out/shops/other.txt", "TSV", false);
    AUTO(tree_freep) json_t *others = list_all(named); /* a path to a file: patterns are ignored */
    CHECK_INT(json_array_size(others), 1);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void check_refused(const char *path, const char *after, const char *words) {
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = SIZE_MAX};
    AUTO(tree_freep) json_t *spec = spec_of(path, "CSV", true);
    CHECK_INT(list(spec, after, &told, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, words);
    json_decref(told.lines);
}

static void test_tables_that_do_not_fit_are_refused(void) {
    put("mixed/a.x", "name,age\nAda,36\n");
    put("mixed/b.x", "age,name\n36,Ada\n");
    check_refused("out/mixed", NULL,
                  "spec.input.table.path: out/mixed/b.x: columns are "
                  "[\"age\",\"name\"], expected [\"name\",\"age\"] as in a.x");
    put("empty/a.x", "");
    check_refused("out/empty", NULL,
                  "spec.input.table.path: out/empty/a.x: is empty, a header is expected");
    put("bare/a.x", "name\n");
    check_refused("out/bare", NULL,
                  "spec.input.table.path: out/bare: no file in it matches "
                  "spec.input.table.pattern \"*.x\" and has rows");
    put("twice/a.x", "a,a\n1,2\n");
    check_refused("out/twice", NULL,
                  "spec.input.table.path: out/twice/a.x: the header has the column \"a\" twice");
    check_refused("out/mixed", "x", "spec.input.table.path: \"x\" is not a position in the input");
    put("bytes/a\xff.x", "a\n1\n");
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = SIZE_MAX};
    AUTO(tree_freep) json_t *spec = spec_of("out/bytes", "CSV", true);
    CHECK_INT(list(spec, NULL, &told, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "not UTF-8; rename it") != NULL);
    json_decref(told.lines);
}

/* Cut into work, 2^31 rows of nothing would be as many failed items. */
static void test_rows_that_a_footer_makes_up_are_refused(void) {
    struct made_group groups[] = {{.pages = {9}}, {.pages = {9}, .rows = (int64_t)1 << 31}};
    struct parquet_bytes bytes = made_parquet(groups, ARRAY_LEN(groups));
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = SIZE_MAX};
    put_bytes("claims/a.x", bytes.data, bytes.size);
    AUTO(tree_freep) json_t *spec = spec_of("out/claims", "Parquet", false);
    CHECK_INT(list(spec, NULL, &told, &err), -1);
    CHECK_STR(err.text, "spec.input.table.path: out/claims/a.x: damaged: row group 1: column "
                        "\"x\": its pages have 9 values, the footer says 2147483648");
    CHECK_INT(json_array_size(told.lines), 1);
    json_decref(told.lines);
    free(bytes.data);
}

static void test_a_file_that_changes_is_told(void) {
    struct error err = {0};
    put("change/a.x", "name\nAda\nBob\n");
    AUTO(tree_freep) json_t *spec = spec_of("out/change", "CSV", true);
    AUTO(tree_freep) json_t *lines = list_all(spec);
    AUTO(text_freep) char *cursor = json_dumps(json_array_get(lines, 0), JSON_COMPACT);
    put("change/a.x", "name\nAda\nBob\nCarl\n");
    check_refused("out/change", cursor,
                  "spec.input.table.path: out/change/a.x: has changed since it was listed");
    struct input_reader *reader = NULL;
    struct item item;
    CHECK_OK(table_media.lines->reader_open(spec, lines, &reader, &err), &err);
    CHECK_INT(table_media.lines->reader_next(reader, &item, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT); /* the mini-batch's last try */
    CHECK_STR(err.text, "spec.input.table.path: out/change/a.x: has changed since it was listed");
    error_clear(&err);
    AUTO(tree_freep) json_t *again = list_all(spec); /* the reader still works */
    CHECK_OK(table_media.lines->reader_open(spec, again, &reader, &err), &err);
    CHECK_INT(table_media.lines->reader_next(reader, &item, &err), 1);
    CHECK_STR(item.text, "{\"name\":\"Ada\"}");
    table_media.lines->reader_free(reader);
}

static void test_leases_that_make_no_sense_are_refused(void) {
    static const char *const rows[] = {"{}",
                                       "[1]",
                                       "[[]]",
                                       "[\"a\"]",
                                       "[[\"a\",0,1]]",
                                       "[[\"a\",1,1,\"t\"]]",
                                       "[[\"a\",-1,1,\"t\"]]",
                                       "[[\"\",0,1,\"t\"]]",
                                       "[[\"a\\u0000b\",0,1,\"t\"]]",
                                       "[[\"a\",0,1.5,\"t\"]]"};
    AUTO(tree_freep) json_t *spec = spec_of("out/shops", "CSV", true);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *lines = json_loads(rows[i], JSON_ALLOW_NUL, NULL);
        struct input_reader *reader = NULL;
        CHECK(lines != NULL);
        CHECK_INT(table_media.lines->reader_open(spec, lines, &reader, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

/* Who reads many rows at a time wants to know before (endpoint/turn_room.h). */
static void test_sizes_of_rows_are_known_where_a_block_is_one(void) {
    static const struct {
        const char *format, *line;
        int batch;
        int64_t bytes;
    } rows[] = {
        {"JSONLines", "[\"a\",100,5000100,\"t\"]", 0, 5000000},
        {"CSV", "[\"a\",0,9000000000,\"t\"]", 0, 64 << 20}, /* a longer row is not read */
        {"CSV", "[\"a\",100,5000100,\"t\"]", 1 << 20, -1},  /* of any number of rows */
        {"CSV", "[\"a\",100,40100,\"t\"]", 1 << 20, 40000},
        {"Parquet", "[\"a\",0,1,\"t\"]", 0, -1},
        {"CSV", "[1]", 0, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of("out/shops", rows[i].format, true);
        AUTO(tree_freep) json_t *line = json_loads(rows[i].line, 0, NULL);
        json_object_set_new(spec, "miniBatchBytes", json_integer(rows[i].batch));
        CHECK_INT(table_media.lines->line_bytes(spec, line), rows[i].bytes);
    }
}

int main(void) {
    fixtures_start("table");
    TEST(test_every_row_once_and_in_order);
    TEST(test_rows_have_their_columns_and_places);
    TEST(test_tables_that_do_not_fit_are_refused);
    TEST(test_rows_that_a_footer_makes_up_are_refused);
    TEST(test_a_file_that_changes_is_told);
    TEST(test_leases_that_make_no_sense_are_refused);
    TEST(test_sizes_of_rows_are_known_where_a_block_is_one);
    return TEST_END();
}
