/* table_rows.h: the rows of a block of a table's file, whatever its format, as JSON text. One
 * thread. */
#pragma once

#include "agent/data/table/table_file.h"

struct table_rows {
    struct store *store;     /* borrowed */
    struct table_file *file; /* borrowed */
    int64_t at, end;         /* of text: the part of the block that is not read yet */
    bool has_ended;
    char *piece; /* of text: bytes that its parser has borrowed; owned */
};

void table_rows_release(struct table_rows *rows); /* for AUTO, too */
/* Begins with the block [first, end) of the open file: bytes of text, rows of Parquet. */
void table_rows_start(struct table_rows *rows, struct store *store, struct table_file *file,
                      int64_t first, int64_t end);
/* Clears json and writes the next row: 1. Or 1 with *ret_fault (one line, borrowed until the next
 * call; otherwise NULL): the row cannot be read, and json is empty. 0: no more. -1: the file has
 * changed (CONFLICT) or cannot be read; the rest of the block is lost. */
NODISCARD int table_rows_next(struct table_rows *rows, struct buffer *json, const char **ret_fault,
                              struct error *err);
/* Where the last row begins: its byte, or its number. */
int64_t table_rows_place(const struct table_rows *rows);
/* The tree of such a row (json_decref). NULL with *ret_fault, owned, why there is none: `fault`
 * (NULL: none), or it is not an object, or it takes too much memory. */
json_t *table_rows_object(const struct buffer *json, const char *fault, char **ret_fault);
