// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/table_rows.h"

#include <stdlib.h>

enum { PIECE_BYTES = 1 << 20 /* part of a block that is in memory */ };

static const char too_large[] = "the row is larger than 64 MiB as JSON";

void table_rows_release(struct table_rows *rows) {
    free(rows->piece);
    *rows = (struct table_rows){0};
}

void table_rows_start(struct table_rows *rows, struct store *store, struct table_file *file,
                      int64_t first, int64_t end) {
    rows->store = store;
    rows->file = file;
    rows->at = first;
    rows->end = end;
    rows->has_ended = false;
    if (file->parquet) {
        row_reader_start(table_parquet_reader(file->parquet), first, end);
    } else {
        rows->piece = rows->piece ? rows->piece : x_malloc(PIECE_BYTES);
        row_parser_start(file->rows, first);
    }
}

int64_t table_rows_place(const struct table_rows *rows) {
    return rows->file->parquet ? row_reader_place(table_parquet_reader(rows->file->parquet))
                               : row_parser_place(rows->file->rows);
}

/* Gives the parser more bytes, or ends it. */
static int feed(struct table_rows *rows, struct error *err) {
    size_t size = (size_t)MIN(rows->end - rows->at, (int64_t)PIECE_BYTES);
    if (size == 0) {
        row_parser_end(rows->file->rows);
        rows->has_ended = true;
        return 0;
    }
    if (table_file_read(rows->store, rows->file, rows->at, rows->piece, size, err) < 0) {
        return -1;
    }
    row_parser_add(rows->file->rows, rows->piece, size);
    rows->at += (int64_t)size;
    return 0;
}

static int next_text(struct table_rows *rows, struct buffer *json, const char **ret_fault,
                     struct error *err) {
    for (;;) {
        struct error full = {0};
        int got = row_parser_next(rows->file->rows, json, ret_fault, &full);
        if (got < 0) {
            *ret_fault = too_large;
            return 1;
        }
        if (got > 0 || rows->has_ended) {
            return got;
        }
        if (feed(rows, err) < 0) {
            return -1;
        }
    }
}

static int next_parquet(struct table_rows *rows, struct buffer *json, const char **ret_fault,
                        struct error *err) {
    struct row_reader *reader = table_parquet_reader(rows->file->parquet);
    struct error why = {0};
    int got = row_reader_next(reader, json, ret_fault, &why);
    if (got < 0 && why.kind == ERROR_EXHAUSTED) {
        *ret_fault = too_large;
        return 1;
    }
    if (got < 0) {
        *err = why;
    }
    return got;
}

int table_rows_next(struct table_rows *rows, struct buffer *json, const char **ret_fault,
                    struct error *err) {
    *ret_fault = NULL;
    buffer_clear(json);
    return rows->file->parquet ? next_parquet(rows, json, ret_fault, err)
                               : next_text(rows, json, ret_fault, err);
}

json_t *table_rows_object(const struct buffer *json, const char *fault, char **ret_fault) {
    struct error large = {0};
    if (!fault && tree_check_memory(json->data, json->size, TREE_MEMORY_MAX, &large) < 0) {
        fault = large.text;
    }
    json_t *object = fault ? NULL : json_loadb(json->data, json->size, JSON_DECODE_ANY, NULL);
    if (json_is_object(object)) {
        return object;
    }
    json_decref(object);
    *ret_fault = x_strdup(fault ? fault : "is not a JSON object");
    return NULL;
}
