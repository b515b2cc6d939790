/* column_reader.h: a column of one row group after the other, in windows of some thousand values:
 * what is present, as an array, and levels that say what is null and which values make up a list.
 * Memory: two pages, the dictionary, PARQUET_PAGES_READ bytes and a window; of the columns that are
 * read together at most COLUMN_READER_MEMORY, and a page. One thread. */
#pragma once

#include "agent/data/parquet/parquet_pages.h"
#include "agent/data/parquet/parquet_values.h"

enum {
    COLUMN_READER_WINDOW = 4096,        /* values; of lists: the window ends with a row */
    COLUMN_READER_ROW_VALUES = 1 << 24, /* maximum of a list */
};
#define COLUMN_READER_MEMORY ((size_t)3 << 29)

/* What columns that are read together take. */
struct column_memory {
    size_t used;
};

struct column_window {
    size_t rows;
    size_t entries; /* values with nulls; of a list that is empty or null: one */
    size_t present; /* values that are there */
    /* Of each entry: definition_max: a value is there. NULL: of all entries. */
    const uint8_t *definition;
    const uint8_t *repetition; /* of each entry: 0: a row begins. NULL: each entry is a row */
    const void *values;        /* as parquet_values_take gives them */
};

struct column_reader;

/* column, source, memory: borrowed. read_bytes: as parquet_pages_open. */
struct column_reader *column_reader_new(const struct parquet_source *source,
                                        const struct parquet_leaf *column, size_t read_bytes,
                                        struct column_memory *memory);
void column_reader_free(struct column_reader *reader); /* accepts NULL */
/* Begins a chunk; what is left of another one is dropped. rows: of its group. */
void column_reader_start(struct column_reader *reader, const struct parquet_chunk *chunk,
                         int64_t rows);
/* The next window, borrowed until the next call: at least one row. INVALID: damaged, or no more
 * rows; errors do not name the column. Others are the source's. */
NODISCARD int column_reader_next(struct column_reader *reader,
                                 const struct column_window **ret_window, struct error *err);
/* Skips at most `rows` rows behind the last window, as far as pages need not be unpacked for it. */
NODISCARD int column_reader_skip(struct column_reader *reader, int64_t rows, int64_t *ret_skipped,
                                 struct error *err);
