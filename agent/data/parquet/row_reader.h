/* row_reader.h: the rows of a Parquet file as JSON objects, of those columns that are wanted; only
 * their bytes are read. One thread.
 *
 * Values (value_json.h) are members by their columns' names, lists arrays; what is null is null. A
 * damaged page spoils the rows of its row group from there on, as far as row_reader_start says, and
 * they have one fault. Which rows that are depends on the file and on that range alone. */
#pragma once

#include "agent/data/parquet/parquet_file.h"
#include "lib/buffer.h"

struct row_reader;

/* file: borrowed. columns: places in its schema, of columns without refusal. */
struct row_reader *row_reader_new(const struct parquet_file *file, const size_t *columns,
                                  size_t count);
void row_reader_free(struct row_reader *reader); /* accepts NULL */
/* Goes to the rows [first, end) of the file, which need not be in one row group. Rows behind the
 * last one that was read are reached by going on, others of its group from the group's start. */
void row_reader_start(struct row_reader *reader, int64_t first, int64_t end);
/* Appends the next row: 1. Or 1 with *ret_fault (one line, borrowed until the next call; otherwise
 * NULL): the row cannot be read, and nothing is appended. 0: no more. -1, EXHAUSTED: json has no
 * room for the row, which is skipped; other errors are the source's, whose EXHAUSTED becomes
 * UNAVAILABLE: the next call asks for the same row again. */
NODISCARD int row_reader_next(struct row_reader *reader, struct buffer *json,
                              const char **ret_fault, struct error *err);
/* The number in the file of the last row, from 0. */
int64_t row_reader_place(const struct row_reader *reader);
