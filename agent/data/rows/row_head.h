/* row_head.h: what a row of results begins with, so that it can be recognised: the columns of its
 * key, then those of the input that spec.output.columns carries along. The key is spec.output.key;
 * else the table's partitionKeys; else file and row, the row's number in its file from 0 on; of
 * files the file; of a video the frame. For workers. One thread.
 *
 * A worker reads a block of a table and does not know how many rows are before it. It counts the
 * rows of each file in its lease, and behind the rows of a part it leaves a line ["a.csv",12] for
 * each file, in order: this many rows of it were in the lease, those that failed included.
 * row_places.h makes numbers in the file of both. */
#pragma once

#include "lib/buffer.h"
#include "lib/tree.h"

#include <stdint.h>

/* An item. */
struct row_place {
    const char *name; /* its display name */
    const char *file; /* the item itself, or the file with its row; NULL: a frame of a video */
    int64_t row;      /* the row's number in the file, -1: not known; of a video the frame's */
    const char *json; /* of a table: the row; else NULL */
    size_t json_size;
};

struct row_heads;

/* Whether rows have heads: spec.output.format is given. */
bool row_heads_are_wanted(const json_t *spec);
/* Whether numbers of rows must be completed by row_places.h. */
bool row_heads_count(const json_t *spec);
/* The names of their columns, a JSON array; owned by the caller. */
json_t *row_heads_names(const json_t *spec);

/* NULL: rows have none. spec must outlive the heads. */
struct row_heads *row_heads_new(const json_t *spec);
void row_heads_free(struct row_heads *heads); /* accepts NULL */
/* A lease begins. */
void row_heads_start(struct row_heads *heads);
/* Counts an item. Call it for each item of the lease, in order, also for those that have failed. */
void row_heads_see(struct row_heads *heads, const struct row_place *place);
/* Appends the members of the item that row_heads_see has just counted, without braces:
 * "file":"a.csv","row":3. INVALID: the row lacks a column of the key or of spec.output.columns, or
 * a value is not of its type in spec.output.types. */
NODISCARD int row_heads_add(const struct row_heads *heads, const struct row_place *place,
                            struct buffer *head, struct error *err);
/* Appends the lines at the end of the part. */
NODISCARD int row_heads_end(struct row_heads *heads, struct buffer *lines, struct error *err);
