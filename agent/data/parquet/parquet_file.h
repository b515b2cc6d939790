/* parquet_file.h: the footer of a Parquet file: its columns, and where their chunks are in each
 * row group. Format: parquet-format of Apache Parquet. */
#pragma once

#include "agent/data/parquet/parquet_schema.h"

enum {
    PARQUET_FOOTER_MAX = 64 << 20,
    PARQUET_CHUNKS_MAX = 4 << 20, /* row groups times leaves of the schema */
};
#define PARQUET_ROWS_MAX ((int64_t)1 << 48)

/* Where the bytes come from. Borrowed; read: exactly `size` bytes, or -1 with *err. */
struct parquet_source {
    int (*read)(void *context, int64_t offset, void *data, size_t size, struct error *err);
    void *context;
    int64_t size_bytes;
};

/* The values of a column in a row group: pages, one after the other. */
struct parquet_chunk {
    int64_t start, size; /* bytes of the file */
    int64_t unpacked;    /* bytes without compression, as the file says; a hint */
    int64_t values;      /* with nulls */
    int codec;           /* enum parquet_codec, or an unknown one */
};

struct parquet_group {
    int64_t first, rows; /* number of its first row in the file */
    const struct parquet_chunk *chunks;
};

struct parquet_file {
    struct parquet_source source;
    struct parquet_schema schema;
    struct parquet_group *groups;
    size_t group_count;
    struct parquet_chunk *chunks; /* of all groups */
    int64_t rows;
};

/* INVALID: not a Parquet file, damaged, cut or encrypted; errors do not name the file. */
NODISCARD int parquet_file_open(const struct parquet_source *source, struct parquet_file *ret_file,
                                struct error *err);
void parquet_file_release(struct parquet_file *file); /* for AUTO, too */
/* The place of the column; SIZE_MAX: there is none. */
size_t parquet_file_find(const struct parquet_file *file, const char *name);
/* The group that has this row of the file; group_count: none. */
size_t parquet_file_group(const struct parquet_file *file, int64_t row);
