/* parquet_values.h: the values of a page, without its levels, in the encodings of Parquet
 * (Encodings.md). What is read must be followed by BIT_RUNS_PAD readable bytes. Errors do not name
 * the column. One thread. */
#pragma once

#include "agent/data/parquet/delta_packed.h"
#include "agent/data/parquet/parquet_schema.h"
#include "lib/buffer.h"

enum { PARQUET_VALUES_HEAP_MAX = 256 << 20 /* bytes that texts of one call may unpack to */ };

/* A value of a column of bytes (also INT96). */
struct parquet_value_bytes {
    const uint8_t *data; /* borrowed */
    size_t size;
};

/* Bytes of a value in the arrays of parquet_values_take: 1 (BOOLEAN), 4, 8, or of a struct
 * parquet_value_bytes (for BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY and INT96). */
size_t parquet_values_size(enum parquet_type type);

struct parquet_dictionary {
    void *values; /* as parquet_values_take gives them; owned */
    size_t count;
    uint8_t *page; /* what the values borrow; owned */
};
void parquet_dictionary_release(struct parquet_dictionary *dictionary);

struct parquet_values {
    const struct parquet_leaf *column; /* borrowed */
    const struct parquet_dictionary *dictionary;
    int encoding;
    const uint8_t *at, *end;
    uint64_t bit;              /* PLAIN booleans */
    struct bit_runs runs;      /* indices into the dictionary; RLE booleans */
    struct delta_packed delta; /* numbers; lengths; prefixes */
    struct delta_packed suffixes;
    size_t stride;       /* BYTE_STREAM_SPLIT: values of the page */
    struct buffer *last; /* DELTA_BYTE_ARRAY: the value before; borrowed */
};

struct parquet_values_options {
    const struct parquet_leaf *column;
    const struct parquet_dictionary *dictionary; /* NULL: none */
    int encoding;
    struct buffer *last; /* of the caller, for DELTA_BYTE_ARRAY */
};
/* INVALID: damaged, or an encoding that is unknown or not for this type. */
NODISCARD int parquet_values_open(const struct parquet_values_options *options, const uint8_t *data,
                                  size_t size, struct parquet_values *ret_values,
                                  struct error *err);
/* Takes `count` values. heap: gets the bytes of values that are not in the page as they are; they
 * are borrowed from it until it is cleared. */
NODISCARD int parquet_values_take(struct parquet_values *values, size_t count, void *out,
                                  struct buffer *heap, struct error *err);
