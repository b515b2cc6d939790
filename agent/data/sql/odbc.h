/* odbc.h: one query of one database through unixODBC (odbc_library.h): its columns, then its rows,
 * one by one. Everything happens in a transaction that is never committed, so that a query changes
 * nothing, and sees one state of the data. One thread. Errors have the database's words, without
 * what is secret in the connection string (connection_string.h):
 *   INVALID: the query, the connection string, a driver that is missing, a column or a value
 *   DENIED: the login is refused
 *   UNAVAILABLE: the database does not answer, or the connection broke */
#pragma once

#include "lib/buffer.h"

#include <stdint.h>

enum {
    ODBC_COLUMNS_MAX = 4096,
    ODBC_NAME_MAX = 256,        /* characters of a column's name */
    ODBC_VALUE_MAX = 64 << 20,  /* bytes of a text, as UTF-8 */
    ODBC_CONNECTION_MAX = 4096, /* bytes of a connection string */
    ODBC_LOGIN_S = 30,          /* time limit of a login */
};

enum odbc_type {
    ODBC_BOOLEAN,
    ODBC_INTEGER, /* int64 */
    ODBC_NUMBER,  /* double */
    ODBC_TEXT,    /* and all else: decimals, dates and times as the driver spells them */
};

struct odbc_column {
    char *name; /* UTF-8, owned by the query */
    enum odbc_type type;
};

struct odbc_value {
    bool is_null, boolean;
    int64_t integer;
    double number;
    const char *text; /* UTF-8, borrowed until the next value is read; may have NULs */
    size_t text_size;
};

struct odbc_query;

/* Connects and prepares the query. connection: "Driver=...;Server=...;Uid=...;Pwd=..." or
 * "DSN=...", as SQLDriverConnect takes it. */
NODISCARD int odbc_query_open(const char *connection, const char *sql,
                              struct odbc_query **ret_query, struct error *err);
void odbc_query_free(struct odbc_query *query);
void odbc_query_freep(struct odbc_query **query); /* for AUTO */
/* Runs it. INVALID: it has no columns, two of one name, one without a name, or of bytes. */
NODISCARD int odbc_query_run(struct odbc_query *query, struct error *err);
const struct odbc_column *odbc_query_columns(const struct odbc_query *query, size_t *ret_count);
/* 1: there is a next row; 0: no more; -1. */
NODISCARD int odbc_query_next(struct odbc_query *query, struct error *err);
/* The values of a row are read in the order of the columns, each once. */
NODISCARD int odbc_query_value(struct odbc_query *query, size_t column,
                               struct odbc_value *ret_value, struct error *err);
