/* table_file.h: a file of a table as its readers and its listing see it: where rows begin, what the
 * columns are. Used by table.c and keys.c. */
#pragma once

#include "agent/data/source/source.h"
#include "agent/data/table/rows.h"
#include "lib/tree.h"

/* Of spec.input.table. */
struct table_format {
    enum split_format split;
    bool has_header;
};
struct table_format table_format(const json_t *spec);

struct table_file {
    char *name; /* in its store; NULL: none is open */
    struct store_info info;
    int64_t first; /* byte at which the rows begin: behind UTF-8 mark and header */
    struct rows *rows;
};

/* Asks for the file, reads its header. token: INVALID when the file has another by now; NULL: any.
 * On failure there is no file. */
NODISCARD int table_file_open(struct store *store, const char *name, struct table_format format,
                              const char *token, struct table_file *file, struct error *err);
void table_file_release(struct table_file *file); /* for AUTO, too */
/* Exactly so many bytes, unless the file has changed: INVALID. */
NODISCARD int table_file_read(struct store *store, const struct table_file *file, int64_t offset,
                              void *data, size_t size, struct error *err);

/* Those of the first file, which all others must have. */
struct table_columns {
    char *names, *of; /* rows_columns, and its name; NULL: there was none yet */
};
NODISCARD int table_columns_check(struct table_columns *columns, struct store *store,
                                  const struct table_file *file, struct error *err);
void table_columns_release(struct table_columns *columns);

/* A line of the kind. The texts are borrowed from it. */
struct table_block {
    const char *name, *token;
    int64_t first, end;
};
/* False: it is none. */
bool table_block_read(const json_t *line, struct table_block *ret_block);
/* Clears the buffer and writes the line. */
NODISCARD int table_block_write(const struct table_block *block, struct buffer *line,
                                struct error *err);
