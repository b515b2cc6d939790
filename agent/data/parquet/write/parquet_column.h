/* parquet_column.h: the kinds of columns that our Parquet files have. Every value may be null. */
#pragma once

#include "agent/data/parquet/parquet_format.h"

enum parquet_kind {
    PARQUET_KIND_BOOLEAN,
    PARQUET_KIND_INTEGER,  /* INT64 */
    PARQUET_KIND_NUMBER,   /* DOUBLE */
    PARQUET_KIND_TEXT,     /* BYTE_ARRAY, STRING */
    PARQUET_KIND_JSON,     /* BYTE_ARRAY, JSON */
    PARQUET_KIND_INTEGERS, /* LIST of INT64 */
    PARQUET_KIND_NUMBERS,  /* LIST of DOUBLE */
    PARQUET_KIND_FLOATS,   /* LIST of FLOAT */
};

struct parquet_column {
    const char *name; /* UTF-8 */
    enum parquet_kind kind;
};
