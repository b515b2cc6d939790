/* parquet_writer.h: writes a table as a Parquet file (https://parquet.apache.org/docs/file-format),
 * from its first byte to its last, without seeking: format 2.6 with pages of version 1, a row group
 * per PARQUET_GROUP_BYTES, dictionaries where they pay, smallest and largest values. Memory: a row
 * group, and about 200 bytes per column of each. The same rows give the same bytes. One thread. */
#pragma once

#include "agent/data/parquet/write/chunk_writer.h"

enum {
    PARQUET_GROUP_BYTES = 64 << 20, /* of values; a row may be larger */
    PARQUET_GROUP_ROWS = 1 << 20,
};

struct parquet_writer_options {
    const struct parquet_column *columns; /* copied */
    size_t count;                         /* at least 1 */
    enum parquet_codec codec;
    parquet_take *take; /* gets the bytes of the file */
    void *context;
};

struct parquet_writer;

struct parquet_writer *parquet_writer_new(const struct parquet_writer_options *options);
void parquet_writer_free(struct parquet_writer *writer); /* accepts NULL */
/* Where the next row's value of a column goes (chunk_writer.h): each column gets one per row. */
struct chunk_writer *parquet_writer_column(struct parquet_writer *writer, size_t column);
NODISCARD int parquet_writer_end_row(struct parquet_writer *writer, struct error *err);
/* Writes the file's end. EXHAUSTED: more row groups than a file can have. */
NODISCARD int parquet_writer_finish(struct parquet_writer *writer, struct error *err);
