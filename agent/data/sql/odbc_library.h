/* odbc_library.h: the functions of unixODBC's driver manager (libodbc.so.2), which is opened at run
 * time: an image that runs no query need not have it. Types and numbers are those of ODBC 3.8
 * (https://learn.microsoft.com/sql/odbc/reference/syntax) on 64-bit Linux. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

enum { /* results of the functions */
       ODBC_SUCCESS = 0,
       ODBC_SUCCESS_WITH_INFO = 1,
       ODBC_NO_DATA = 100,
};
enum { /* kinds of handles */
       ODBC_ENVIRONMENT = 1,
       ODBC_CONNECTION = 2,
       ODBC_STATEMENT = 3,
};
enum { /* types of columns */
       ODBC_TYPE_CHAR = 1,
       ODBC_TYPE_INTEGER = 4,
       ODBC_TYPE_SMALLINT = 5,
       ODBC_TYPE_FLOAT = 6,
       ODBC_TYPE_REAL = 7,
       ODBC_TYPE_DOUBLE = 8,
       ODBC_TYPE_BINARY = -2,
       ODBC_TYPE_VARBINARY = -3,
       ODBC_TYPE_LONGVARBINARY = -4,
       ODBC_TYPE_BIGINT = -5,
       ODBC_TYPE_TINYINT = -6,
       ODBC_TYPE_BIT = -7,
};
enum { /* types that values are read as */
       ODBC_AS_DOUBLE = 8,
       ODBC_AS_BIT = -7,
       ODBC_AS_TEXT = -8, /* UTF-16 */
       ODBC_AS_INTEGER = -25,
};
enum { ODBC_NULL = -1 }; /* instead of a value's size */

struct odbc_library {
    short (*alloc)(short kind, void *from, void **ret_handle);
    short (*free)(short kind, void *handle);
    short (*set_environment)(void *environment, int what, void *value, int size);
    short (*set_connection)(void *connection, int what, void *value, int size);
    short (*connect)(void *connection, void *window, uint16_t *text, short count, uint16_t *out,
                     short out_max, short *out_count, unsigned short how);
    short (*disconnect)(void *connection);
    short (*get_info)(void *connection, unsigned short what, void *value, short max, short *size);
    short (*prepare)(void *statement, uint16_t *sql, int count);
    short (*execute)(void *statement);
    short (*count_columns)(void *statement, short *count);
    short (*describe)(void *statement, unsigned short column, uint16_t *name, short max,
                      short *count, short *type, unsigned long *size, short *digits,
                      short *nullable);
    short (*fetch)(void *statement);
    short (*get)(void *statement, unsigned short column, short type, void *value, long max,
                 long *size);
    short (*diagnose)(short kind, void *handle, short number, uint16_t *state, int *native,
                      uint16_t *text, short max, short *count);
    short (*end)(short kind, void *handle, short how);
};

/* The library stays open. INVALID: it is not there, or lacks a function. Any thread. */
NODISCARD int odbc_library_open(struct odbc_library *ret_library, struct error *err);
