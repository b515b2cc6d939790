/* query_file.h: the rows of a query as one Parquet file, which is made once; later
 * callers read it. So every reader sees the same rows, whatever the database has meanwhile. Memory:
 * a row group, and the longest row. Blocks. Errors as odbc.h has them, or the store's. */
#pragma once

#include "agent/store/store.h"

#define QUERY_FILE_NAME "rows.parquet"

struct query_file {
    const char *connection; /* odbc.h; NULL: none; rows that are kept need none; borrowed */
    const char *sql;        /* borrowed */
};

/* Connects and prepares the query, but does not run it. */
NODISCARD int query_file_check(const struct query_file *file, struct error *err);
/* Makes the object of that name, unless it exists. */
NODISCARD int query_file_make(const struct query_file *file, struct store *store, const char *name,
                              struct error *err);
