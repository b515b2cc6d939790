// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/odbc.h"

#include "agent/data/sql/connection_string.h"
#include "agent/data/sql/odbc_library.h"
#include "agent/data/sql/utf16.h"
#include "lib/secret.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { /* of the functions, in ODBC's documentation with SQL_ before it */
       ATTR_ODBC_VERSION = 200,
       OV_ODBC3 = 3,
       ATTR_ACCESS_MODE = 101,
       MODE_READ_ONLY = 1,
       ATTR_AUTOCOMMIT = 102,
       ATTR_LOGIN_TIMEOUT = 103,
       DRIVER_NOPROMPT = 0,
       DRIVER_NAME = 6,
       ROLLBACK = 1,
};
enum { UNITS = 4096, MESSAGE_UNITS = 512, STATE_UNITS = 6, NAME_BYTES = 256 };

struct odbc_query {
    struct odbc_library odbc;
    void *environment, *connection, *statement;
    bool is_connected;
    struct connection_string secrets;
    struct odbc_column *columns;
    size_t count;
    int64_t row;
    struct buffer text;
};

static bool is_good(short result) {
    return result == ODBC_SUCCESS || result == ODBC_SUCCESS_WITH_INFO;
}

/* ---- messages ------------------------------------------------------------------------------- */

static enum error_kind kind_of(const char *state) {
    return text_starts(state, "28")                                ? ERROR_DENIED
           : text_starts(state, "08") || text_starts(state, "HYT") ? ERROR_UNAVAILABLE
           : text_starts(state, "57P") || text_starts(state, "40") ? ERROR_UNAVAILABLE
                                                                   : ERROR_INVALID;
}

/* Says what the database says about a handle. */
static int complain(const struct odbc_query *query, short kind, void *handle, struct error *err) {
    uint16_t state[STATE_UNITS] = {0}, text[MESSAGE_UNITS] = {0};
    struct buffer words, code;
    struct error ignored = {0};
    int native = 0;
    short count = 0;
    buffer_init(&words, 1 << 16);
    buffer_init(&code, 64);
    if (is_good(
            query->odbc.diagnose(kind, handle, 1, state, &native, text, MESSAGE_UNITS, &count))) {
        size_t length = (size_t)MAX(0, MIN((int)count, MESSAGE_UNITS - 1));
        (void)!utf16_append(&code, state, STATE_UNITS - 1, &ignored);
        (void)!utf16_append(&words, text, length, &ignored);
    }
    if (words.size) {
        connection_string_hide(&query->secrets, words.data, count >= MESSAGE_UNITS - 1);
        utf8_make_line(words.data);
    }
    /* psqlodbc reports a refused login as a connection that failed. */
    bool is_login = words.size && strstr(words.data, "authentication failed");
    error_set(err, is_login ? ERROR_DENIED : kind_of(code.size ? code.data : ""), "%s (%s)",
              words.size ? words.data : "the driver gave no reason", code.size ? code.data : "-");
    buffer_release(&words);
    buffer_release(&code);
    return -1;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int connect_as(struct odbc_query *query, const char *connection, struct error *err) {
    const struct odbc_library *odbc = &query->odbc;
    size_t count = 0;
    uint16_t *text = utf16_from_text(connection, &count);
    short out = 0;
    (void)odbc->set_connection(query->connection, ATTR_LOGIN_TIMEOUT,
                               (void *)(uintptr_t)ODBC_LOGIN_S, 0);
    short result =
        odbc->connect(query->connection, NULL, text, (short)count, NULL, 0, &out, DRIVER_NOPROMPT);
    explicit_bzero(text, count * sizeof *text);
    free(text);
    query->is_connected = is_good(result);
    return query->is_connected ? 0 : complain(query, ODBC_CONNECTION, query->connection, err);
}

/* PostgreSQL's driver takes all rows of a result into memory, unless it is asked to use a cursor.
 */
static int connect_once_more(struct odbc_query *query, const char *connection, struct error *err) {
    char name[NAME_BYTES] = "";
    short size = 0;
    if (!is_good(query->odbc.get_info(query->connection, DRIVER_NAME, name, sizeof name, &size)) ||
        !strcasestr(name, "psqlodbc")) {
        return 0;
    }
    AUTO(secret_forget)
    char *more = x_printf("%s;UseDeclareFetch=1;Fetch=10000;BoolsAsChar=0", connection);
    (void)query->odbc.disconnect(query->connection);
    query->is_connected = false;
    return connect_as(query, more, err);
}

static int connect_first(struct odbc_query *query, const char *connection, struct error *err) {
    const struct odbc_library *odbc = &query->odbc;
    if (!is_good(odbc->alloc(ODBC_ENVIRONMENT, NULL, &query->environment)) ||
        !is_good(odbc->set_environment(query->environment, ATTR_ODBC_VERSION,
                                       (void *)(uintptr_t)OV_ODBC3, 0)) ||
        !is_good(odbc->alloc(ODBC_CONNECTION, query->environment, &query->connection))) {
        return error_set(err, ERROR_UNAVAILABLE, "unixODBC has no handle");
    }
    if (connect_as(query, connection, err) < 0 || connect_once_more(query, connection, err) < 0) {
        return -1;
    }
    /* A driver need not know this one: nothing is committed. */
    (void)odbc->set_connection(query->connection, ATTR_ACCESS_MODE,
                               (void *)(uintptr_t)MODE_READ_ONLY, 0);
    if (!is_good(odbc->set_connection(query->connection, ATTR_AUTOCOMMIT, NULL, 0))) {
        complain(query, ODBC_CONNECTION, query->connection, err);
        return error_context(err, "the driver cannot begin a transaction");
    }
    return is_good(odbc->alloc(ODBC_STATEMENT, query->connection, &query->statement))
               ? 0
               : complain(query, ODBC_CONNECTION, query->connection, err);
}

int odbc_query_open(const char *connection, const char *sql, struct odbc_query **ret_query,
                    struct error *err) {
    AUTO(odbc_query_freep) struct odbc_query *query = x_calloc(1, sizeof *query);
    buffer_init(&query->text, ODBC_VALUE_MAX);
    if (strlen(connection) > ODBC_CONNECTION_MAX) {
        return error_set(err, ERROR_INVALID, "the connection string has more than %d bytes",
                         ODBC_CONNECTION_MAX);
    }
    if (connection_string_read(connection, &query->secrets, err) < 0 ||
        odbc_library_open(&query->odbc, err) < 0 || connect_first(query, connection, err) < 0) {
        return -1;
    }
    size_t count = 0;
    uint16_t *text = utf16_from_text(sql, &count);
    short result = query->odbc.prepare(query->statement, text, (int)count);
    free(text);
    if (!is_good(result)) {
        return complain(query, ODBC_STATEMENT, query->statement, err);
    }
    *ret_query = TAKE(query);
    return 0;
}

void odbc_query_free(struct odbc_query *query) {
    if (!query) {
        return;
    }
    const struct odbc_library *odbc = &query->odbc;
    if (query->statement) {
        (void)odbc->free(ODBC_STATEMENT, query->statement);
    }
    if (query->is_connected) {
        (void)odbc->end(ODBC_CONNECTION, query->connection, ROLLBACK);
        (void)odbc->disconnect(query->connection);
    }
    if (query->connection) {
        (void)odbc->free(ODBC_CONNECTION, query->connection);
    }
    if (query->environment) {
        (void)odbc->free(ODBC_ENVIRONMENT, query->environment);
    }
    for (size_t i = 0; i < query->count; i++) {
        free(query->columns[i].name);
    }
    free(query->columns);
    connection_string_release(&query->secrets);
    buffer_release(&query->text);
    free(query);
}

void odbc_query_freep(struct odbc_query **query) {
    odbc_query_free(*query);
}

/* ---- columns -------------------------------------------------------------------------------- */

static int find_type(short type, enum odbc_type *ret_type) {
    switch (type) {
    case ODBC_TYPE_BIT:
        *ret_type = ODBC_BOOLEAN;
        return 0;
    case ODBC_TYPE_TINYINT:
    case ODBC_TYPE_SMALLINT:
    case ODBC_TYPE_INTEGER:
    case ODBC_TYPE_BIGINT:
        *ret_type = ODBC_INTEGER;
        return 0;
    case ODBC_TYPE_REAL:
    case ODBC_TYPE_FLOAT:
    case ODBC_TYPE_DOUBLE:
        *ret_type = ODBC_NUMBER;
        return 0;
    case ODBC_TYPE_BINARY:
    case ODBC_TYPE_VARBINARY:
    case ODBC_TYPE_LONGVARBINARY:
        return -1;
    default:
        *ret_type = ODBC_TEXT;
        return 0;
    }
}

static int add_column(struct odbc_query *query, unsigned short number, struct error *err) {
    uint16_t name[ODBC_NAME_MAX + 1] = {0};
    unsigned long size = 0;
    short count = 0, type = 0, digits = 0, nullable = 0;
    struct odbc_column *column = &query->columns[query->count];
    if (!is_good(query->odbc.describe(query->statement, number, name, ODBC_NAME_MAX + 1, &count,
                                      &type, &size, &digits, &nullable))) {
        return complain(query, ODBC_STATEMENT, query->statement, err);
    }
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 4 * ODBC_NAME_MAX);
    if (count <= 0 || count > ODBC_NAME_MAX) {
        return error_set(err, ERROR_INVALID,
                         "column %d has no name, or one of more than %d characters: give it one "
                         "with AS",
                         number, ODBC_NAME_MAX);
    }
    if (utf16_append(&text, name, (size_t)count, err) < 0) {
        return -1;
    }
    if (find_type(type, &column->type) < 0) {
        return error_set(err, ERROR_INVALID,
                         "column \"%.100s\" has bytes, which a row cannot have: leave it out, or "
                         "convert it to a text",
                         text.data);
    }
    for (size_t i = 0; i < query->count; i++) {
        if (strcmp(query->columns[i].name, text.data) == 0) {
            return error_set(err, ERROR_INVALID,
                             "two columns have the name \"%.100s\": give one another with AS",
                             text.data);
        }
    }
    column->name = buffer_take(&text, NULL);
    query->count++;
    return 0;
}

static int count_columns(const struct odbc_query *query, short *ret_count, struct error *err) {
    if (!is_good(query->odbc.count_columns(query->statement, ret_count))) {
        return complain(query, ODBC_STATEMENT, query->statement, err);
    }
    return *ret_count > 0 && *ret_count <= ODBC_COLUMNS_MAX
               ? 0
               : error_set(err, ERROR_INVALID,
                           "the query gives %d columns, expected 1 to %d: a SELECT", *ret_count,
                           ODBC_COLUMNS_MAX);
}

int odbc_query_run(struct odbc_query *query, struct error *err) {
    short count = 0;
    if (count_columns(query, &count, err) < 0) { /* before anything runs */
        return -1;
    }
    short result = query->odbc.execute(query->statement);
    if (!is_good(result) && result != ODBC_NO_DATA) {
        return complain(query, ODBC_STATEMENT, query->statement, err);
    }
    if (count_columns(query, &count, err) < 0) {
        return -1;
    }
    query->columns = x_calloc((size_t)count, sizeof *query->columns);
    for (unsigned short i = 1; i <= count; i++) {
        if (add_column(query, i, err) < 0) {
            return -1;
        }
    }
    return 0;
}

const struct odbc_column *odbc_query_columns(const struct odbc_query *query, size_t *ret_count) {
    *ret_count = query->count;
    return query->columns;
}

/* ---- rows ----------------------------------------------------------------------------------- */

int odbc_query_next(struct odbc_query *query, struct error *err) {
    short result = query->odbc.fetch(query->statement);
    if (result == ODBC_NO_DATA) {
        return 0;
    }
    query->row++;
    return is_good(result) ? 1 : complain(query, ODBC_STATEMENT, query->statement, err);
}

static int refuse_value(const struct odbc_query *query, size_t column, struct error *err) {
    return error_context(err, "row %lld, column \"%.100s\"", (long long)query->row,
                         query->columns[column].name);
}

/* A text comes in pieces. */
static int read_text(struct odbc_query *query, size_t column, struct odbc_value *ret_value,
                     struct error *err) {
    uint16_t units[UNITS + 1];
    AUTO(buffer_release) struct buffer whole; /* a piece may end between two surrogates */
    buffer_init(&whole, 2 * (size_t)ODBC_VALUE_MAX);
    for (bool is_first = true;; is_first = false) {
        long size = 0;
        short result = query->odbc.get(query->statement, (unsigned short)(column + 1), ODBC_AS_TEXT,
                                       units, sizeof units, &size);
        if (result == ODBC_NO_DATA && !is_first) {
            break;
        }
        if (!is_good(result)) {
            return complain(query, ODBC_STATEMENT, query->statement, err);
        }
        if (size == ODBC_NULL) {
            ret_value->is_null = true;
            return 0;
        }
        bool is_cut = size < 0 || (size_t)size > UNITS * sizeof *units;
        size_t got = is_cut ? UNITS * sizeof *units : (size_t)size;
        if (buffer_append(&whole, units, got, err) < 0) {
            break;
        }
        if (!is_cut) {
            break;
        }
    }
    buffer_clear(&query->text);
    if (err->kind || utf16_append(&query->text, (const uint16_t *)(const void *)whole.data,
                                  whole.size / sizeof *units, err) < 0) {
        error_clear(err);
        return error_set(err, ERROR_INVALID, "a value has more than %d MiB", ODBC_VALUE_MAX >> 20);
    }
    ret_value->text = query->text.data ? query->text.data : "";
    ret_value->text_size = query->text.size;
    return 0;
}

static int read_fixed(struct odbc_query *query, size_t column, struct odbc_value *ret_value,
                      struct error *err) {
    enum odbc_type type = query->columns[column].type;
    unsigned char bit = 0;
    void *value = type == ODBC_BOOLEAN   ? (void *)&bit
                  : type == ODBC_INTEGER ? (void *)&ret_value->integer
                                         : (void *)&ret_value->number;
    short as = type == ODBC_BOOLEAN   ? ODBC_AS_BIT
               : type == ODBC_INTEGER ? ODBC_AS_INTEGER
                                      : ODBC_AS_DOUBLE;
    long size = 0;
    short result = query->odbc.get(query->statement, (unsigned short)(column + 1), as, value,
                                   (long)sizeof(int64_t), &size);
    if (!is_good(result)) {
        return complain(query, ODBC_STATEMENT, query->statement, err);
    }
    ret_value->is_null = size == ODBC_NULL;
    ret_value->boolean = bit != 0;
    return 0;
}

int odbc_query_value(struct odbc_query *query, size_t column, struct odbc_value *ret_value,
                     struct error *err) {
    *ret_value = (struct odbc_value){0};
    int result = query->columns[column].type == ODBC_TEXT
                     ? read_text(query, column, ret_value, err)
                     : read_fixed(query, column, ret_value, err);
    return result < 0 ? refuse_value(query, column, err) : 0;
}
