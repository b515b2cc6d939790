/* row_parser.h: the rows of a block, one at a time, as JSON text for a scorer:
 * {"column":"text",...} with a header, ["text",...] without one; a row of JSON Lines byte for byte.
 * Bytes come in pieces of any size; a row is kept once in memory, and one that is too long is not
 * kept. Pure. One thread.
 *
 * Fields are parsed like Python's csv, except that an unclosed quote is a fault and a lone CR is
 * data. An empty line (JSON Lines: also one of spaces only) is not a row. */
#pragma once

#include "agent/data/table/split.h"
#include "lib/buffer.h"

enum {
    ROW_HEADER_MAX = 64 << 10,
    ROW_BYTES_MAX = 64 << 20,
};

struct row_parser_options {
    enum split_format format;
    const char *header; /* the header's row as row_parser_header found it; NULL: none. Copied */
    size_t header_size;
    size_t row_bytes_max; /* the longest row in bytes, at most ROW_BYTES_MAX */
};

struct row_parser;

/* Where the header is in the file's first bytes: [first, end), with its newline. */
struct row_header {
    size_t first, end;
};

/* Finds the header in the file's first bytes: from after the UTF-8 byte order mark to the first
 * row's end. has_all: the file has no more bytes. INVALID: it is longer than ROW_HEADER_MAX, or
 * empty. */
NODISCARD int row_parser_header(enum split_format format, const char *data, size_t size,
                                bool has_all, struct row_header *ret_header, struct error *err);

/* INVALID: the header is not UTF-8, has a NUL byte, an unclosed quote or a duplicate name. */
NODISCARD int row_parser_new(const struct row_parser_options *options, struct row_parser **ret_rows,
                             struct error *err);
void row_parser_free(struct row_parser *parser);
void row_parser_freep(struct row_parser **parser);
/* The header's names as the text of a JSON array, "" without a header: equal names, equal texts. */
const char *row_parser_columns(const struct row_parser *parser);

/* Begins a block at this byte of the file; the rest of an earlier block is dropped. */
void row_parser_start(struct row_parser *parser, int64_t offset);
/* Adds the block's next bytes, which are borrowed until row_parser_next has returned 0. */
void row_parser_add(struct row_parser *parser, const char *data, size_t size);
/* No more bytes follow: the rest without a newline is a row, too. */
void row_parser_end(struct row_parser *parser);
/* Appends the next row to json: 1. Or 1 with *ret_fault (one line, borrowed until the next call;
 * otherwise NULL) and nothing appended: the row is a failed item. 0: needs more bytes, or the block
 * is finished. -1, EXHAUSTED: json has no room for the row, which is skipped; nothing is
 * appended. */
NODISCARD int row_parser_next(struct row_parser *parser, struct buffer *json,
                              const char **ret_fault, struct error *err);
/* The byte of the file at which the last row begins. */
int64_t row_parser_place(const struct row_parser *parser);
