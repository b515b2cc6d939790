/* rows.h: the rows of a block, one at a time, as JSON text for a scorer: {"column":"text",...} with
 * a header, ["text",...] without one; a row of JSON Lines byte for byte. Bytes come in pieces of
 * any size; a row is kept once in memory, and one that is too long is not kept. Pure. One thread.
 *
 * Fields are parsed like Python's csv, except that an unclosed quote is a fault and a lone CR is
 * data. An empty line (JSON Lines: also one of spaces only) is not a row. */
#pragma once

#include "agent/data/table/split.h"
#include "lib/buffer.h"

enum {
    ROWS_HEADER_MAX = 64 << 10,
    ROWS_ROW_MAX = 64 << 20,
};

struct rows_options {
    enum split_format format;
    const char *header; /* the header's row as rows_header found it; NULL: none. Copied */
    size_t header_size;
    size_t row_bytes_max; /* ROWS_ROW_MAX */
};

struct rows;

/* Finds the header in the file's first bytes: from after the UTF-8 byte order mark to the first
 * row's end. has_all: the file has no more bytes. INVALID: it is longer than ROWS_HEADER_MAX, or
 * empty. */
NODISCARD int rows_header(enum split_format format, const char *data, size_t size, bool has_all,
                          size_t *ret_first, size_t *ret_end, struct error *err);

/* INVALID: the header is not UTF-8, has a NUL byte, an unclosed quote or a duplicate name. */
NODISCARD int rows_new(const struct rows_options *options, struct rows **ret_rows,
                       struct error *err);
void rows_free(struct rows *rows);
void rows_freep(struct rows **rows);
/* The header's names as the text of a JSON array, "" without a header: equal names, equal texts. */
const char *rows_columns(const struct rows *rows);

/* Begins a block at this byte of the file; the rest of an earlier block is dropped. */
void rows_start(struct rows *rows, int64_t offset);
/* Adds the block's next bytes, which are borrowed until rows_next has returned 0. */
void rows_add(struct rows *rows, const char *data, size_t size);
/* No more bytes follow: the rest without a newline is a row, too. */
void rows_end(struct rows *rows);
/* Appends the next row to json: 1. Or 1 with *ret_fault (one line, borrowed until the next call;
 * otherwise NULL) and nothing appended: the row is a failed item. 0: needs more bytes, or the block
 * is finished. -1, EXHAUSTED: json has no room for the row, which is skipped; nothing is
 * appended. */
NODISCARD int rows_next(struct rows *rows, struct buffer *json, const char **ret_fault,
                        struct error *err);
/* The byte of the file at which the last row begins. */
int64_t rows_place(const struct rows *rows);
