/* row_key.h: the partition key of a table row (spec.input.table.partitionKeys): the values of some
 * of its columns, encoded as bytes so that byte order is key order and no key is a prefix of
 * another. A key can be written as JSON again. Used by keys.c. Pure. */
#pragma once

#include "lib/buffer.h"

enum { ROW_KEY_COLUMNS = 8 };

struct row_key_columns {
    char *names[ROW_KEY_COLUMNS]; /* as JSON text, with quotes; owned */
    size_t count;
};
void row_key_columns_release(struct row_key_columns *columns); /* for AUTO, too */
/* Adds a column; its name is UTF-8. EXHAUSTED: there are ROW_KEY_COLUMNS already, or the name is
 * longer than 4 KiB. */
NODISCARD int row_key_column(struct row_key_columns *columns, const char *name, struct error *err);

/* Clears `key` and writes the row's key. json: the row, a JSON value. The key has the values of
 * these members: strings by their characters, others as they are spelled, null for a missing one. A
 * row that is NULL or not an object has the null key, which sorts before all others. EXHAUSTED:
 * longer than key->max. */
NODISCARD int row_key_make(const struct row_key_columns *columns, const char *json, size_t size,
                           struct buffer *key, struct error *err);
/* Appends the key as JSON: ["b1","mon"], or null. */
NODISCARD int row_key_write(struct buffer *text, const char *key, size_t size, struct error *err);
