/* table_parquet.h: a Parquet file of a table: those of its columns that are read, and where it is
 * cut into blocks of rows. Used by table_file.c and table_rows.c. */
#pragma once

#include "agent/data/parquet/parquet_file.h"
#include "agent/data/parquet/row_reader.h"
#include "lib/tree.h"

struct table_parquet;

struct table_parquet_options {
    struct parquet_source source; /* copied; its context is borrowed */
    const json_t *columns;        /* names of those that are read; NULL: all that can be */
    bool wants_all;               /* without names: one that cannot be read is INVALID */
};
/* INVALID: not a Parquet file, damaged, or a column is missing or cannot be read; errors do not
 * name the file. */
NODISCARD int table_parquet_new(const struct table_parquet_options *options,
                                struct table_parquet **ret_parquet, struct error *err);
void table_parquet_free(struct table_parquet *parquet); /* accepts NULL */

int64_t table_parquet_rows(const struct table_parquet *parquet); /* how many */
/* The columns that are read, with their types, as the text of a JSON array. */
const char *table_parquet_columns(const struct table_parquet *parquet);
struct row_reader *table_parquet_reader(struct table_parquet *parquet);
/* The end of the block of rows that begins with this row, about block_bytes of what is read: whole
 * row groups, or an equal part of one that is larger; 0: one row. INVALID: the file has fewer rows
 * than it says (parquet_claims.h). */
NODISCARD int table_parquet_cut(const struct table_parquet *parquet, int64_t first,
                                int64_t block_bytes, int64_t *ret_end, struct error *err);
