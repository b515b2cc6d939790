// SPDX-License-Identifier: Apache-2.0
/* Queries of a SQLite database in memory. Values, and PostgreSQL: tests/e2e/formats/test_query.sh.
 */
#include "agent/data/sql/odbc.h"

#include "tests/test.h"

#include <stdlib.h>

/* The number of columns and of rows, "2x3", or the error. The caller frees. */
static char *run(const char *connection, const char *sql) {
    AUTO(odbc_query_freep) struct odbc_query *query = NULL;
    struct error err = {0};
    size_t columns = 0;
    int rows = 0, got;
    if (odbc_query_open(connection, sql, &query, &err) < 0 || odbc_query_run(query, &err) < 0) {
        return x_strdup(err.text);
    }
    while ((got = odbc_query_next(query, &err)) > 0) {
        rows++;
    }
    (void)odbc_query_columns(query, &columns);
    return got < 0 ? x_strdup(err.text) : x_printf("%zux%d", columns, rows);
}

static void test_only_a_select_runs(void) {
    static const struct {
        const char *sql, *wanted;
    } rows[] = {
        {"SELECT 1 AS a, 'x' AS b", "2x1"},
        {"SELECT 1 AS a UNION SELECT 2", "1x2"},
        {"WITH t AS (SELECT 1 AS a) SELECT a FROM t", "1x1"},
        {"SELECT 1 AS a WHERE 1 = 0", "1x0"},
        {"CREATE TABLE t (a INT)", "the query gives 0 columns, expected 1 to 4096: a SELECT"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = run("Driver=SQLite3;Database=:memory:", rows[i].sql);
        CHECK_STR(seen, rows[i].wanted);
    }
}

static void test_a_string_without_an_end_is_not_used(void) {
    AUTO(text_freep) char *seen = run("Driver=SQLite3;Pwd={hidden7", "SELECT 1 AS a");
    CHECK_STR(seen, "the connection string has a { without its }");
}

int main(void) {
    TEST(test_only_a_select_runs);
    TEST(test_a_string_without_an_end_is_not_used);
    return TEST_END();
}
