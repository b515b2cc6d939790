/* chunk_writer.h: a column of one row group: collects values, encodes them in pages (version 1) of
 * about CHUNK_PAGE_BYTES, with a dictionary while that pays, and writes the pages. One thread. */
#pragma once

#include "agent/data/parquet/write/parquet_column.h"
#include "agent/data/parquet/write/value_range.h"
#include "lib/buffer.h"

#include <stdint.h>

enum { CHUNK_PAGE_BYTES = 1 << 20 };

struct chunk_writer;

/* The numbers of a list. */
struct parquet_list {
    const void *values;  /* int64_t of INTEGERS, else double */
    const bool *is_null; /* NULL: none is */
    size_t count;
};

/* What the file's end says about a column of a row group. */
struct chunk_summary {
    int64_t values, nulls;             /* of lists: elements, and what is in their place */
    int64_t plain_bytes, stored_bytes; /* with heads of pages; before and after compression */
    int64_t dictionary_at, data_at;    /* in the file; dictionary_at -1: none */
    bool has_plain;                    /* some pages are without the dictionary */
    bool has_range;
    struct value_range range;
};

/* -1 with *err ends the writing. */
typedef int parquet_take(void *context, const void *data, size_t size, struct error *err);

struct chunk_writer *chunk_writer_new(enum parquet_kind kind, enum parquet_codec codec);
void chunk_writer_free(struct chunk_writer *chunk); /* accepts NULL */
enum parquet_type chunk_writer_type(enum parquet_kind kind);
bool chunk_writer_is_list(enum parquet_kind kind);

/* The value of the next row, by the column's kind. EXHAUSTED: larger than a page can be. */
NODISCARD int chunk_writer_null(struct chunk_writer *chunk, struct error *err);
NODISCARD int chunk_writer_boolean(struct chunk_writer *chunk, bool value, struct error *err);
NODISCARD int chunk_writer_integer(struct chunk_writer *chunk, int64_t value, struct error *err);
NODISCARD int chunk_writer_number(struct chunk_writer *chunk, double value, struct error *err);
NODISCARD int chunk_writer_text(struct chunk_writer *chunk, const char *text, size_t size,
                                struct error *err);
NODISCARD int chunk_writer_list(struct chunk_writer *chunk, const struct parquet_list *list,
                                struct error *err);

/* Memory of all that waits. */
size_t chunk_writer_bytes(const struct chunk_writer *chunk);
/* Writes the pages and begins the next row group. at: their place in the file. */
NODISCARD int chunk_writer_end(struct chunk_writer *chunk, int64_t at, parquet_take *take,
                               void *context, struct chunk_summary *ret_summary, struct error *err);
