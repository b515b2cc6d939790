/* table_file.h: a file of a table, for its readers and its listing: where rows begin, what the
 * columns are. Used by table.c and keys.c. */
#pragma once

#include "agent/data/source/source.h"
#include "agent/data/table/row_parser.h"
#include "agent/data/table/table_parquet.h"
#include "lib/tree.h"

/* From spec.input.table. */
struct table_format {
    enum split_format split;
    bool has_header;
    bool is_parquet;       /* then these are of table_parquet_options */
    const json_t *columns; /* borrowed from the spec */
    bool wants_all;
};
struct table_format table_file_format(const json_t *spec);

struct table_file {
    char *name; /* in its store; NULL: no file is open */
    struct store_info info;
    int64_t first; /* byte at which the rows begin: after UTF-8 byte order mark and header; of
                      Parquet: 0, a row */
    int64_t end;   /* of all rows: bytes, or the number of rows */
    struct row_parser *rows;        /* of text */
    struct table_parquet *parquet;  /* of Parquet */
    struct table_file_bytes *bytes; /* what Parquet is read from */
};

/* Looks the file up and reads its header, or footer. token: CONFLICT if the file has another one
 * now; NULL: any. On failure no file is open. */
NODISCARD int table_file_open(struct store *store, const char *name, struct table_format format,
                              const char *token, struct table_file *file, struct error *err);
void table_file_release(struct table_file *file); /* for AUTO, too */
/* Reads exactly size bytes. CONFLICT: the file has changed. */
NODISCARD int table_file_read(struct store *store, const struct table_file *file, int64_t offset,
                              void *data, size_t size, struct error *err);

/* The columns of the first file; all others must have the same. */
struct table_columns {
    char *names, *of; /* as JSON, and the first file's name; NULL: no file yet */
};
NODISCARD int table_file_check_columns(struct table_columns *columns, struct store *store,
                                       const struct table_file *file, struct error *err);
void table_file_columns_release(struct table_columns *columns);

/* A line of this input kind, parsed: bytes, of Parquet rows. The texts are borrowed from the line.
 */
struct table_block {
    const char *name, *token;
    int64_t first, end;
};
/* False: the line does not describe a block. */
bool table_file_block_read(const json_t *line, struct table_block *ret_block);
/* Clears the buffer and writes the line. */
NODISCARD int table_file_block_write(const struct table_block *block, struct buffer *line,
                                     struct error *err);
