// SPDX-License-Identifier: Apache-2.0
/* Types of columns by all their values, and the values of each row. */
#include "agent/data/rows/row_cells.h"

#include "tests/parse_json.h"
#include "tests/test.h"

#include <stdlib.h>

static int see_all(struct row_columns *columns, const char *const *rows, struct error *err) {
    for (; *rows; rows++) {
        if (row_columns_see(columns, *rows, strlen(*rows), err) < 0) {
            return -1;
        }
    }
    row_columns_end(columns);
    return 0;
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_the_narrowest_type(void) {
    static const struct {
        const char *rows[4];
        enum row_type type;
    } rows[] = {
        {{"{\"a\":null}", "{}"}, ROW_TEXT},
        {{"{\"a\":true}", "{\"a\":null}"}, ROW_BOOLEAN},
        {{"{\"a\":true}", "{\"a\":1}"}, ROW_JSON},
        {{"{\"a\":1}", "{\"a\":9223372036854775807}"}, ROW_INTEGER},
        {{"{\"a\":1}", "{\"a\":0.5}"}, ROW_NUMBER},
        {{"{\"a\":9007199254740993}", "{\"a\":0.5}"}, ROW_JSON},
        {{"{\"a\":9223372036854775808}"}, ROW_JSON},
        {{"{\"a\":1e999}"}, ROW_JSON},
        {{"{\"a\":\"x\"}", "{\"a\":\"\\u00e9\"}"}, ROW_TEXT},
        {{"{\"a\":\"x\"}", "{\"a\":1}"}, ROW_JSON},
        {{"{\"a\":\"\\ud800\"}"}, ROW_JSON},
        {{"{\"a\":\"\\u0000\"}"}, ROW_JSON},
        {{"{\"a\":{}}"}, ROW_JSON},
        {{"{\"a\":[]}"}, ROW_INTEGERS},
        {{"{\"a\":[1,2]}", "{\"a\":[null]}"}, ROW_INTEGERS},
        {{"{\"a\":[1,2]}", "{\"a\":[ 0.5 , null ]}"}, ROW_FLOATS},
        {{"{\"a\":[16777217]}", "{\"a\":[0.5]}"}, ROW_NUMBERS},
        {{"{\"a\":[0.1]}"}, ROW_NUMBERS},
        {{"{\"a\":[0.100000001,-0.25]}"}, ROW_FLOATS},
        {{"{\"a\":[9007199254740993]}", "{\"a\":[0.5]}"}, ROW_JSON},
        {{"{\"a\":[1,\"x\"]}"}, ROW_JSON},
        {{"{\"a\":[[1]]}"}, ROW_JSON},
        {{"{\"a\":[1]}", "{\"a\":1}"}, ROW_JSON},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(row_columns_release) struct row_columns columns;
        row_columns_init(&columns, NULL, NULL, false);
        CHECK_OK(see_all(&columns, rows[i].rows, &err), &err);
        CHECK_INT(columns.count, 1);
        if (columns.columns[0].type != rows[i].type) {
            printf("# %s %s\n", rows[i].rows[0], rows[i].rows[1]);
            CHECK_STR(row_type_name(columns.columns[0].type), row_type_name(rows[i].type));
        }
    }
}

static void test_order_and_names(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *heads = parse("[\"file\",\"row\"]");
    AUTO(tree_freep) json_t *types = parse("{\"price\":\"Number\"}");
    AUTO(row_columns_release) struct row_columns columns;
    row_columns_init(&columns, heads, types, false);
    CHECK_OK(see_all(&columns,
                     ROWS("{\"file\":\"a\",\"row\":0,\"b\":1}",
                          "{\"row\":1,\"f\\u0069le\":\"a\",\"a\":1,\"b\":2}"),
                     &err),
             &err);
    CHECK_INT(columns.count, 5);
    static const char *const wanted[] = {"file", "row", "price", "b", "a"};
    for (size_t i = 0; i < 5; i++) {
        CHECK_STR(columns.columns[i].name, wanted[i]);
    }
    CHECK(columns.columns[0].is_head && !columns.columns[3].is_head);
    CHECK_INT(columns.rows, 2);
}

static void test_rows_that_are_none(void) {
    static const char *const rows[][2] = {
        {"[1]", "row 2 is not a JSON object"},
        {"", "row 2 is not a JSON object"},
        {"{\"a\":1,}", "row 2 is not a JSON object"},
        {"{\"a\":1}{}", "row 2 is not a JSON object"},
        {"{\"a\":1,\"a\":2}", "row 2 has column \"a\" twice"},
        {"{\"a\":1,\"\\u0061\":2}", "row 2 has column \"a\" twice"},
        {"{\"\\u0000\":2}", "row 2 has a name that is not UTF-8, or has a NUL byte"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(row_columns_release) struct row_columns columns;
        row_columns_init(&columns, NULL, NULL, false);
        CHECK_INT(see_all(&columns, ROWS("{}", rows[i][0]), &err), -1);
        CHECK_STR(err.text, rows[i][1]);
    }
}

static void test_too_many_columns(void) {
    struct error err = {0};
    AUTO(row_columns_release) struct row_columns columns;
    row_columns_init(&columns, NULL, NULL, false);
    int result = 0;
    for (int i = 0; i <= ROW_COLUMNS_MAX && result == 0; i++) {
        AUTO(text_freep) char *row = x_printf("{\"c%d\":1}", i);
        result = row_columns_see(&columns, row, strlen(row), &err);
    }
    CHECK_STR(err.text, "row 4097: column \"c4096\": more than 4096 columns");
}

static void test_values(void) {
    struct error err = {0};
    static const char row[] =
        "{\"t\":\"x\\ny\",\"i\":-7,\"d\":0.5,\"b\":true,\"l\":[1.5,null,2e100],"
        "\"j\":{\"k\": 1},\"n\":null}";
    AUTO(row_columns_release) struct row_columns columns;
    AUTO(row_cells_release) struct row_cells cells;
    row_columns_init(&columns, NULL, NULL, false);
    CHECK_OK(see_all(&columns, ROWS(row, "{}"), &err), &err);
    row_cells_init(&cells, &columns);
    CHECK_OK(row_cells_read(&cells, row, strlen(row), &err), &err);
    CHECK_INT(cells.cells[0].text_size, 3);
    CHECK(memcmp(cells.cells[0].text, "x\ny", 3) == 0);
    CHECK_INT(cells.cells[1].integer, -7);
    CHECK(cells.cells[2].number == 0.5);
    CHECK(cells.cells[3].boolean);
    CHECK_INT(cells.cells[4].count, 3);
    CHECK(cells.numbers[0] == 1.5 && cells.nulls[1] && cells.numbers[2] == 2e100);
    CHECK(memcmp(cells.cells[5].text, "{\"k\": 1}", cells.cells[5].text_size) == 0);
    CHECK(!cells.cells[6].is_there);
    CHECK_OK(row_cells_read(&cells, "{}", 2, &err), &err);
    for (size_t i = 0; i < columns.count; i++) {
        CHECK(!cells.cells[i].is_there);
    }
}

/* What a value becomes as the given type: its text, or the message. */
static void check_given(const char *type, const char *value, const char *wanted) {
    struct error err = {0};
    AUTO(tree_freep) json_t *types = json_pack("{s:s}", "a", type);
    AUTO(text_freep) char *row = x_printf("{\"a\":%s}", value);
    AUTO(row_columns_release) struct row_columns columns;
    AUTO(row_cells_release) struct row_cells cells;
    char seen[512] = "null";
    row_columns_init(&columns, NULL, types, false);
    CHECK_OK(see_all(&columns, ROWS(row), &err), &err);
    row_cells_init(&cells, &columns);
    int result = row_cells_read(&cells, row, strlen(row), &err);
    const struct row_cell *cell = &cells.cells[0];
    if (result < 0) {
        snprintf(seen, sizeof seen, "%s", err.text);
    } else if (cell->is_there && strcmp(type, "Boolean") == 0) {
        snprintf(seen, sizeof seen, "%d", cell->boolean);
    } else if (cell->is_there && strcmp(type, "Integer") == 0) {
        snprintf(seen, sizeof seen, "%lld", (long long)cell->integer);
    } else if (cell->is_there && strcmp(type, "Number") == 0) {
        snprintf(seen, sizeof seen, "%g", cell->number);
    } else if (cell->is_there && strcmp(type, "Vector") == 0) {
        snprintf(seen, sizeof seen, "%zu numbers", cell->count);
    } else if (cell->is_there) {
        snprintf(seen, sizeof seen, "%.*s", (int)cell->text_size, cell->text);
    }
    CHECK_STR(seen, wanted);
}

static void test_given_types(void) {
    check_given("Number", "\"3.5\"", "3.5");
    check_given("Number", "7", "7");
    check_given("Number", "\"\"", "null");
    check_given("Number", "null", "null");
    check_given("Integer", "\"-12\"", "-12");
    check_given("Boolean", "\"true\"", "1");
    check_given("Boolean", "false", "0");
    check_given("Text", "3.50", "3.50");
    check_given("Text", "\"x\"", "x");
    check_given("JSON", "\"x\"", "\"x\"");
    check_given("JSON", "[{}]", "[{}]");
    check_given("Vector", "[0.1,2]", "2 numbers");
    check_given(
        "Number", "\"n/a\"",
        "row 1, column \"a\": \"n/a\" is not of type Number, which spec.output.types names");
    check_given(
        "Number", "\"0x10\"",
        "row 1, column \"a\": \"0x10\" is not of type Number, which spec.output.types names");
    check_given(
        "Number", "\"1e999\"",
        "row 1, column \"a\": \"1e999\" is not of type Number, which spec.output.types names");
    check_given("Integer", "1.5",
                "row 1, column \"a\": 1.5 is not of type Integer, which spec.output.types names");
    check_given("Boolean", "1",
                "row 1, column \"a\": 1 is not of type Boolean, which spec.output.types names");
    check_given("Text", "[1]",
                "row 1, column \"a\": [1] is not of type Text, which spec.output.types names");
    check_given(
        "Vector", "[\"x\"]",
        "row 1, column \"a\": [\"x\"] is not of type Vector, which spec.output.types names");
    check_given("Vector", "[1e39]",
                "row 1, column \"a\": [1e39] is not of type Vector, which spec.output.types names");
}

/* Without having seen it, and whatever else the row has. */
static void test_a_row_is_checked_by_its_types(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *types = parse("{\"a\": \"Number\", \"b\": \"Integer\"}");
    AUTO(row_columns_release) struct row_columns columns;
    AUTO(row_cells_release) struct row_cells cells;
    row_columns_init(&columns, NULL, types, false);
    row_cells_init(&cells, &columns);
    static const char *const good[] = {"{}", "{\"x\":[1,\"y\"],\"a\":\"3.5\",\"b\":7}",
                                       "{\"b\":null,\"a\":\"\",\"z\":{}}"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CHECK_OK(row_cells_check(&cells, good[i], strlen(good[i]), &err), &err);
    }
    static const char bad[] = "{\"x\":1,\"b\":\"7.5\"}";
    CHECK_INT(row_cells_check(&cells, bad, strlen(bad), &err), -1);
    CHECK_STR(err.text,
              "column \"b\": \"7.5\" is not of type Integer, which spec.output.types names");
}

int main(void) {
    TEST(test_the_narrowest_type);
    TEST(test_order_and_names);
    TEST(test_rows_that_are_none);
    TEST(test_too_many_columns);
    TEST(test_values);
    TEST(test_given_types);
    TEST(test_a_row_is_checked_by_its_types);
    return TEST_END();
}
