// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/row_reader.h"

#include "agent/data/parquet/column_reader.h"
#include "agent/data/parquet/value_json.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum {
    READ_ALL = 64 << 20,   /* bytes that all columns read ahead, together */
    READ_LEAST = 64 << 10, /* ... and one, at least */
};

struct cursor {
    const struct parquet_leaf *column;
    struct column_reader *reader;
    const struct column_window *window; /* NULL: none yet */
    size_t row, entry, value;           /* in the window: what comes next */
    struct buffer key;                  /* "name": */
};

struct row_reader {
    const struct parquet_file *file;
    struct column_memory memory;
    struct cursor *cursors;
    size_t count;
    size_t group; /* the cursors are in it; SIZE_MAX: in none */
    int64_t at;   /* row of the file that the cursors are at */
    int64_t next, end;
    bool is_broken; /* the rest of the group: why is in `fault` */
    struct error fault;
};

struct row_reader *row_reader_new(const struct parquet_file *file, const size_t *columns,
                                  size_t count) {
    struct row_reader *reader = x_calloc(1, sizeof *reader);
    size_t read_bytes = MAX((size_t)READ_ALL / MAX(count, (size_t)1), (size_t)READ_LEAST);
    *reader = (struct row_reader){.file = file, .count = count, .group = SIZE_MAX};
    reader->cursors = x_calloc(count + 1, sizeof *reader->cursors);
    for (size_t i = 0; i < count; i++) {
        struct cursor *cursor = &reader->cursors[i];
        struct error never = {0};
        cursor->column = &file->schema.columns[columns[i]];
        cursor->reader =
            column_reader_new(&file->source, cursor->column,
                              MIN(read_bytes, (size_t)PARQUET_PAGES_READ), &reader->memory);
        buffer_init(&cursor->key, 16 * PARQUET_NAME_MAX);
        const char *name = cursor->column->name;
        (void)!(buffer_append(&cursor->key, i ? ",\"" : "{\"", 2, &never) < 0 ||
                jsontext_escape(&cursor->key, name, strlen(name), &never) < 0 ||
                buffer_append(&cursor->key, "\":", 2, &never) < 0);
    }
    return reader;
}

void row_reader_free(struct row_reader *reader) {
    if (reader) {
        for (size_t i = 0; i < reader->count; i++) {
            column_reader_free(reader->cursors[i].reader);
            buffer_release(&reader->cursors[i].key);
        }
        free(reader->cursors);
        free(reader);
    }
}

void row_reader_start(struct row_reader *reader, int64_t first, int64_t end) {
    reader->next = first;
    reader->end = end;
    reader->is_broken = false; /* what is read must not depend on what was read before */
}

int64_t row_reader_place(const struct row_reader *reader) {
    return reader->next - 1;
}

/* ---- cursors -------------------------------------------------------------------------------- */

static int next_window(struct cursor *cursor, struct error *err) {
    cursor->window = NULL;
    if (column_reader_next(cursor->reader, &cursor->window, err) < 0) {
        return -1;
    }
    cursor->row = cursor->entry = cursor->value = 0;
    return 0;
}

/* Behind one more entry. */
static void pass_entry(struct cursor *cursor) {
    const struct column_window *window = cursor->window;
    cursor->value +=
        !window->definition || window->definition[cursor->entry] == cursor->column->definition_max;
    cursor->entry++;
}

/* Behind this many rows of the window. */
static void pass_rows(struct cursor *cursor, size_t rows) {
    const struct column_window *window = cursor->window;
    cursor->row += rows;
    if (!window->definition && !window->repetition) {
        cursor->entry += rows;
        cursor->value += rows;
        return;
    }
    while (rows > 0) {
        pass_entry(cursor);
        rows -= !window->repetition || cursor->entry == window->entries ||
                window->repetition[cursor->entry] == 0;
    }
}

static int skip_rows(struct cursor *cursor, int64_t rows, struct error *err) {
    while (rows > 0) {
        size_t left = cursor->window ? cursor->window->rows - cursor->row : 0;
        if (left > 0) {
            size_t some = (size_t)MIN((int64_t)left, rows);
            pass_rows(cursor, some);
            rows -= (int64_t)some;
            continue;
        }
        int64_t skipped = 0;
        if (column_reader_skip(cursor->reader, rows, &skipped, err) < 0) {
            return -1;
        }
        rows -= skipped;
        if (rows > 0 && next_window(cursor, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- a row ---------------------------------------------------------------------------------- */

static int append_entry(struct cursor *cursor, struct buffer *json, struct error *err) {
    const struct column_window *window = cursor->window;
    bool is_there =
        !window->definition || window->definition[cursor->entry] == cursor->column->definition_max;
    return is_there ? value_json_append(json, cursor->column, window->values, cursor->value, err)
                    : buffer_append(json, "null", 4, err);
}

static int append_list(struct cursor *cursor, struct buffer *json, struct error *err) {
    const struct column_window *window = cursor->window;
    int level = window->definition ? window->definition[cursor->entry] : UINT8_MAX;
    int there = cursor->column->list_definition;
    if (level < there) { /* null, or empty: one entry */
        return level == there - 1 ? buffer_append(json, "[]", 2, err)
                                  : buffer_append(json, "null", 4, err);
    }
    struct cursor at = *cursor; /* the row is passed later */
    const char *before = "[";
    do {
        if (buffer_append(json, before, 1, err) < 0 || append_entry(&at, json, err) < 0) {
            return -1;
        }
        before = ",";
        pass_entry(&at);
    } while (at.entry < window->entries && window->repetition[at.entry] == 1);
    return buffer_append(json, "]", 1, err);
}

static int append_member(struct cursor *cursor, struct buffer *json, struct error *err) {
    int result = buffer_append(json, cursor->key.data, cursor->key.size, err);
    if (result == 0) {
        result = cursor->window->repetition ? append_list(cursor, json, err)
                                            : append_entry(cursor, json, err);
    }
    return result < 0 && err->kind == ERROR_INVALID
               ? error_context(err, "column \"%.64s\"", cursor->column->name)
               : result;
}

/* Puts all cursors at the next row. -1, INVALID: the row, and those behind it, are damaged. */
static int seek(struct row_reader *reader, struct error *err) {
    const struct parquet_file *file = reader->file;
    size_t number = parquet_file_group(file, reader->next);
    const struct parquet_group *group = &file->groups[number];
    bool begins = number != reader->group || reader->next < reader->at;
    int64_t from = begins ? group->first : reader->at;
    for (size_t i = 0; i < reader->count; i++) {
        struct cursor *cursor = &reader->cursors[i];
        if (begins) {
            column_reader_start(cursor->reader, &group->chunks[cursor->column->leaf], group->rows);
            cursor->window = NULL;
        }
        bool is_ready = skip_rows(cursor, reader->next - from, err) == 0 &&
                        ((cursor->window && cursor->row < cursor->window->rows) ||
                         next_window(cursor, err) == 0);
        if (!is_ready) {
            reader->group = SIZE_MAX; /* the cursors are at different rows */
            return err->kind == ERROR_INVALID
                       ? error_context(err, "column \"%.64s\"", cursor->column->name)
                       : -1;
        }
    }
    reader->group = number;
    reader->at = reader->next;
    reader->is_broken = false;
    return 0;
}

static int append_row(struct row_reader *reader, struct buffer *json, struct error *err) {
    size_t size = json->size;
    int result = reader->count == 0 ? buffer_append(json, "{", 1, err) : 0;
    for (size_t i = 0; i < reader->count && result == 0; i++) {
        result = append_member(&reader->cursors[i], json, err);
    }
    if (result == 0) {
        result = buffer_append(json, "}", 1, err);
    }
    if (result < 0) {
        json->size = size;
    }
    return result;
}

/* Whether the next row is in the part of its group that is known to be damaged. */
static bool is_in_broken(const struct row_reader *reader) {
    return reader->is_broken && reader->next >= reader->at &&
           parquet_file_group(reader->file, reader->next) ==
               parquet_file_group(reader->file, reader->at);
}

int row_reader_next(struct row_reader *reader, struct buffer *json, const char **ret_fault,
                    struct error *err) {
    struct error why = {0};
    *ret_fault = NULL;
    if (reader->next >= MIN(reader->end, reader->file->rows)) {
        return 0;
    }
    int64_t row = reader->next;
    if (is_in_broken(reader)) {
        reader->next = row + 1;
        *ret_fault = reader->fault.text;
        return 1;
    }
    int result = seek(reader, &why);
    bool is_damaged = result < 0 && why.kind == ERROR_INVALID;
    if (result == 0) {
        result = append_row(reader, json, &why);
    } else if (!is_damaged) {
        /* EXHAUSTED means that the row was skipped: then a caller goes on, here without end. */
        why.kind = why.kind == ERROR_EXHAUSTED ? ERROR_UNAVAILABLE : why.kind;
        *err = why;
        return -1;
    }
    reader->next = row + 1;
    if (result == 0) {
        return 1;
    }
    if (why.kind != ERROR_INVALID) { /* no room */
        *err = why;
        return -1;
    }
    reader->fault = why;
    reader->is_broken = is_damaged;
    reader->at = is_damaged ? row : reader->at;
    *ret_fault = reader->fault.text;
    return 1;
}
