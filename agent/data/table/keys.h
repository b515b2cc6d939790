/* keys.h: spec.input.table.partitionKeys: all rows with the same values in these columns are one
 * mini-batch, however they are spread over the files. For table.c.
 *
 * The listing reads every row once, joins adjacent rows of one key to ranges, and sorts the ranges
 * in an external sort (sorter.h): by key, then by file and byte. Its lines:
 *
 *     {"key":["b1","mon"],"at":[["a.csv","7x17",0,4096,9000,9100],["b.csv","9x20",12,99]]}
 *     {"key":["b2","mon"],"list":".windlass/RUN/list/key-00000012","crc":"d0b31f42"}
 *
 * at: for each file its name, its change token, and ranges of bytes; if it would make the line too
 * long, it is stored as an object of the output. Keys are in byte order. In JSON Lines strings come
 * after all other values; other values are equal if they are spelled the same, and a missing member
 * is null. Rows that cannot be read, or are not objects, are together in the first line, whose key
 * is null. There are no cursors: an interrupted listing starts over. */
#pragma once

#include "agent/data/input/input.h"
#include "agent/data/table/table_file.h"

enum {
    KEYS_KEY_MAX = 8 << 10,   /* maximum of a key, bytes (row_key.h) */
    KEYS_AT_MAX = 16 << 20,   /* maximum of a key's ranges, bytes */
    KEYS_FILES_MAX = 1 << 16, /* maximum of a table */
};

/* Like input_kind.list. Also INVALID: an unknown column, a key or its ranges too long, a row of CSV
 * that never ends. */
NODISCARD int keys_list(const struct input_listing *listing, const struct source *source,
                        input_line *line, void *context, struct error *err);

bool keys_is_line(const json_t *line);

/* Iterates over the ranges of a line. The line is borrowed, and its reference count is never
 * changed: it came with a message that another thread releases (scoring.h). */
struct keys_ranges {
    const json_t *at; /* in the line, or in `loaded` */
    json_t *loaded;   /* owned; NULL: the line has them */
    size_t file, next;
};
/* output: spec.output.path. INVALID: the object is not what the listing stored. */
NODISCARD int keys_ranges_open(const json_t *line, const char *output,
                               struct keys_ranges *ret_ranges, struct error *err);
/* False: no more. The block's texts are borrowed from the ranges. */
bool keys_ranges_next(struct keys_ranges *ranges, struct table_block *ret_block);
void keys_ranges_release(struct keys_ranges *ranges);
