// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/row_parser.h"

#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A field of a row: up to three pieces, of which the first was quoted. */
struct field {
    const char *quoted; /* still with doubled quotes; NULL: the field did not begin with a quote */
    size_t quoted_size;
    const char *plain;
    size_t plain_size;
};

struct row_parser {
    struct row_parser_options options;
    struct buffer names; /* of column i: `"name":`, from starts[i] to starts[i + 1] */
    size_t *starts, columns;
    struct buffer listed; /* row_parser_columns */
    struct buffer held;   /* the beginning of a row whose end has not come yet */
    const char *data;     /* the bytes that are not read yet */
    size_t size;
    bool is_last;
    enum split_state state;
    size_t row_size;     /* bytes so far of the row that is being read */
    int64_t next, place; /* offsets in the file */
    struct error fault;
};

/* Reads the field at *at and skips its delimiter. False: a quote is not closed. */
static bool next_field(enum split_format format, const char **at, const char *end,
                       struct field *ret_field) {
    char delimiter = format == SPLIT_CSV ? ',' : '\t';
    const char *from = *at;
    *ret_field = (struct field){0};
    if (format == SPLIT_CSV && from < end && *from == '"') {
        const char *quote = ++from;
        while ((quote = memchr(quote, '"', (size_t)(end - quote))) && quote + 1 < end &&
               quote[1] == '"') {
            quote += 2;
        }
        if (!quote) {
            return false;
        }
        ret_field->quoted = from;
        ret_field->quoted_size = (size_t)(quote - from);
        from = quote + 1;
    }
    const char *stop = memchr(from, delimiter, (size_t)(end - from));
    ret_field->plain = from;
    ret_field->plain_size = (size_t)((stop ? stop : end) - from);
    *at = stop ? stop + 1 : NULL;
    return true;
}

static int append_field(struct buffer *json, const struct field *field, struct error *err) {
    const char *at = field->quoted;
    size_t left = at ? field->quoted_size : 0;
    while (left > 0) { /* a pair of quotes is one quote */
        const char *pair = memchr(at, '"', left);
        size_t piece = pair ? (size_t)(pair - at) + 1 : left;
        if (jsontext_escape(json, at, piece, err) < 0) {
            return -1;
        }
        piece += pair != NULL;
        at += piece;
        left -= piece;
    }
    return jsontext_escape(json, field->plain, field->plain_size, err);
}

static int append_text(struct buffer *json, const char *text, struct error *err) {
    return buffer_append(json, text, strlen(text), err);
}

int row_parser_header(enum split_format format, const char *data, size_t size, bool has_all,
                      struct row_header *ret_header, struct error *err) {
    size_t mark = split_mark(data, size), looked = MIN(size - mark, ROW_HEADER_MAX);
    enum split_state state = SPLIT_FIELD;
    size_t length = split_row_end(format, &state, data + mark, looked);
    if (length == 0 && has_all && looked == size - mark) {
        length = looked;
    }
    if (length == 0) {
        return size == mark && has_all
                   ? error_set(err, ERROR_INVALID, "is empty, a header is expected")
                   : error_set(err, ERROR_INVALID, "the header is longer than %d bytes",
                               ROW_HEADER_MAX);
    }
    *ret_header = (struct row_header){mark, mark + length};
    return 0;
}

/* The size of a row without its newline: "\n", "\r\n". */
static size_t row_text_size(const char *data, size_t size) {
    if (size > 0 && data[size - 1] == '\n') {
        size--;
        size -= size > 0 && data[size - 1] == '\r';
    }
    return size;
}

static int compare_names(const void *a, const void *b) {
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

/* Here `names` has a NUL after each name, so that names can be compared as strings. */
static int check_twice(const struct row_parser *parser, struct error *err) {
    const char **sorted = x_calloc(parser->columns, sizeof *sorted);
    for (size_t i = 0; i < parser->columns; i++) {
        sorted[i] = parser->names.data + parser->starts[i];
    }
    qsort(sorted, parser->columns, sizeof *sorted, compare_names);
    int result = 0;
    for (size_t i = 1; i < parser->columns && result == 0; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            int length = (int)strlen(sorted[i]) - 1; /* without its colon */
            result = error_set(err, ERROR_INVALID, "the header has the column %.*s twice",
                               MIN(length, 300), sorted[i]);
        }
    }
    free(sorted);
    return result;
}

static int read_header(struct row_parser *parser, struct error *err) {
    const char *at = parser->options.header;
    size_t size = row_text_size(at, parser->options.header_size);
    const char *end = at + size;
    if (utf8_valid_size(at, size) < size) {
        return error_set(err, ERROR_INVALID, "the header is not UTF-8 at byte %zu",
                         utf8_valid_size(at, size));
    }
    if (memchr(at, 0, size)) {
        return error_set(err, ERROR_INVALID,
                         "the header has a NUL byte: expected UTF-8, not UTF-16");
    }
    size_t room = 0;
    while (at) {
        struct field field;
        if (!next_field(parser->options.format, &at, end, &field)) {
            return error_set(err, ERROR_INVALID, "the header has an unterminated quote");
        }
        if (parser->columns + 1 >= room) {
            room = room ? room * 2 : 64;
            parser->starts = x_realloc_array(parser->starts, room, sizeof *parser->starts);
        }
        parser->starts[parser->columns] = parser->names.size;
        if (append_text(&parser->names, "\"", err) < 0 ||
            append_field(&parser->names, &field, err) < 0 ||
            buffer_append(&parser->names, "\":", 3, err) < 0) { /* with its NUL */
            return -1;
        }
        size_t name_size = parser->names.size - parser->starts[parser->columns] - 2;
        const char *name = parser->names.data + parser->starts[parser->columns];
        if (append_text(&parser->listed, parser->columns ? "," : "[", err) < 0 ||
            buffer_append(&parser->listed, name, name_size, err) < 0) {
            return -1;
        }
        parser->starts[++parser->columns] = parser->names.size;
    }
    return append_text(&parser->listed, "]", err) < 0 ? -1 : check_twice(parser, err);
}

int row_parser_new(const struct row_parser_options *options, struct row_parser **ret_rows,
                   struct error *err) {
    assert(options->row_bytes_max > 0);
    struct row_parser *parser = x_calloc(1, sizeof *parser);
    parser->options = *options;
    buffer_init(&parser->names, 16 * ROW_HEADER_MAX); /* a byte becomes at most 6 */
    buffer_init(&parser->listed, 16 * ROW_HEADER_MAX);
    buffer_init(&parser->held, options->row_bytes_max);
    row_parser_start(parser, 0);
    if (options->header && read_header(parser, err) < 0) {
        row_parser_free(parser);
        return -1;
    }
    parser->options.header = NULL; /* borrowed only during the call */
    *ret_rows = parser;
    return 0;
}

void row_parser_free(struct row_parser *parser) {
    if (parser) {
        buffer_release(&parser->names);
        buffer_release(&parser->listed);
        buffer_release(&parser->held);
        free(parser->starts);
        free(parser);
    }
}

void row_parser_freep(struct row_parser **parser) {
    row_parser_free(TAKE(*parser));
}

const char *row_parser_columns(const struct row_parser *parser) {
    return parser->listed.data ? parser->listed.data : "";
}

void row_parser_start(struct row_parser *parser, int64_t offset) {
    buffer_clear(&parser->held);
    parser->data = NULL;
    parser->size = parser->row_size = 0;
    parser->is_last = false;
    parser->state = SPLIT_FIELD;
    parser->next = parser->place = offset;
}

void row_parser_add(struct row_parser *parser, const char *data, size_t size) {
    assert(parser->size == 0 && !parser->is_last);
    parser->data = data;
    parser->size = size;
}

void row_parser_end(struct row_parser *parser) {
    parser->is_last = true;
}

int64_t row_parser_place(const struct row_parser *parser) {
    return parser->place;
}

/* The next row's bytes with its newline; false: the row is not complete yet. A row longer than
 * row_bytes_max is counted but not held: *ret_data is NULL then. */
static bool next_row(struct row_parser *parser, const char **ret_data, size_t *ret_size) {
    const char *data = parser->data;
    size_t length = split_row_end(parser->options.format, &parser->state, data, parser->size);
    bool ended = length > 0 || (parser->is_last && parser->row_size + parser->size > 0);
    size_t taken = length ? length : parser->size;
    size_t before = parser->row_size;
    parser->data = data ? data + taken : NULL;
    parser->size -= taken;
    parser->row_size += taken;
    bool is_long = parser->row_size > parser->options.row_bytes_max;
    struct error ignored = {0}; /* it fits: checked above */
    if (is_long) {
        buffer_release(&parser->held);
    } else if ((before > 0 || !ended) && taken > 0 &&
               buffer_append(&parser->held, data, taken, &ignored) < 0) {
        assert(!"a row fits");
    }
    if (!ended) {
        return false;
    }
    *ret_data = is_long ? NULL : before > 0 ? parser->held.data : data;
    *ret_size = parser->row_size;
    return true;
}

/* The row's bytes have been used. */
static void pass_row(struct row_parser *parser) {
    if (parser->held.capacity > ROW_HEADER_MAX) {
        buffer_release(&parser->held); /* frees the room of a long row */
    } else {
        buffer_clear(&parser->held);
    }
    parser->place = parser->next;
    parser->next += (int64_t)parser->row_size;
    parser->row_size = 0;
    parser->state = SPLIT_FIELD;
}

/* 1: the fields are in json. 0: a fault. -1: no room. */
static int append_fields(struct row_parser *parser, const char *data, size_t size,
                         struct buffer *json, struct error *err) {
    const char *at = data, *end = data + size;
    size_t count = 0, start = json->size;
    bool has_names = parser->columns > 0;
    int result = append_text(json, has_names ? "{" : "[", err);
    while (at && result == 0) {
        struct field field;
        if (!next_field(parser->options.format, &at, end, &field)) {
            error_set(&parser->fault, ERROR_INVALID, "a quote is not closed in field %zu",
                      count + 1);
            break;
        }
        if (has_names && count >= parser->columns) {
            count++; /* only counted from here on */
            continue;
        }
        result = count ? append_text(json, ",", err) : 0;
        if (result == 0 && has_names) {
            result = append_text(json, parser->names.data + parser->starts[count], err);
        }
        if (result < 0 || append_text(json, "\"", err) < 0 || append_field(json, &field, err) < 0 ||
            append_text(json, "\"", err) < 0) {
            result = -1;
        }
        count++;
    }
    if (result == 0 && has_names && count != parser->columns) {
        error_set(&parser->fault, ERROR_INVALID, "%zu fields, the header has %zu", count,
                  parser->columns);
    }
    bool failed = parser->fault.kind != ERROR_NONE;
    if (result == 0 && !failed) {
        result = append_text(json, has_names ? "}" : "]", err);
    }
    if ((result < 0 || failed) && json->data) {
        json->size = start;
        json->data[start] = 0;
    }
    return failed ? 0 : result < 0 ? -1 : 1;
}

/* Like append_fields. */
static int append_row(struct row_parser *parser, const char *data, size_t size, struct buffer *json,
                      struct error *err) {
    size_t good = utf8_valid_size(data, size);
    if (good < size) {
        error_set(&parser->fault, ERROR_INVALID, "invalid UTF-8 at byte %zu of the row", good);
        return 0;
    }
    if (parser->options.format != SPLIT_LINES) {
        return append_fields(parser, data, size, json, err);
    }
    if (!jsontext_is_value(data, size)) {
        error_set(&parser->fault, ERROR_INVALID, "the line is not one JSON value");
        return 0;
    }
    return buffer_append(json, data, size, err) < 0 ? -1 : 1;
}

static bool is_blank(enum split_format format, const char *data, size_t size) {
    return format == SPLIT_LINES ? jsontext_space(data, data + size) == data + size : size == 0;
}

int row_parser_next(struct row_parser *parser, struct buffer *json, const char **ret_fault,
                    struct error *err) {
    const char *data = NULL;
    size_t size = 0;
    error_clear(&parser->fault);
    while (next_row(parser, &data, &size)) {
        int result = 0;
        if (!data) {
            error_set(&parser->fault, ERROR_INVALID, "row of %zu bytes, at most %zu are scored",
                      size, parser->options.row_bytes_max);
        } else {
            size_t text_size = row_text_size(data, size);
            if (is_blank(parser->options.format, data, text_size)) {
                pass_row(parser);
                continue;
            }
            result = append_row(parser, data, text_size, json, err);
        }
        pass_row(parser);
        if (result < 0) {
            return -1;
        }
        *ret_fault = result ? NULL : parser->fault.text;
        return 1;
    }
    return 0;
}
