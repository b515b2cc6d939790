/* row_key.h: the key of a row by some of its columns, as bytes that are in order as the keys are
 * and never the beginning of one another, and back to JSON. For keys.c. Pure. */
#pragma once

#include "lib/buffer.h"

enum { ROW_KEY_COLUMNS = 8 };

struct row_key_columns {
    char *names[ROW_KEY_COLUMNS]; /* as JSON text, with quotes; owned */
    size_t count;
};
void row_key_columns_release(struct row_key_columns *columns); /* for AUTO, too */
/* A name in UTF-8. EXHAUSTED: there are ROW_KEY_COLUMNS already, or it is of more than 4 KiB. */
NODISCARD int row_key_column(struct row_key_columns *columns, const char *name, struct error *err);

/* Clears `key` and writes that of the row, a JSON value: the values of these members, a text by its
 * characters, others as they are written; null for one that is missing. NULL, or no object: no key,
 * which comes before all others. EXHAUSTED: longer than key->max. */
NODISCARD int row_key_make(const struct row_key_columns *columns, const char *json, size_t size,
                           struct buffer *key, struct error *err);
/* Appends the key as JSON: ["b1","mon"], or null. */
NODISCARD int row_key_write(struct buffer *text, const char *key, size_t size, struct error *err);
