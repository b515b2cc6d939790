// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/text_rows.h"

#include "agent/store/local_file.h"
#include "agent/train/dataset/stop.h"
#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_BYTES_MAX = 16 << 20, /* of a text */
    WHOLE = 1 << 24,           /* tokens: not cut */
    STOP_ROWS = 256,           /* after this many a stop is looked for */
    TEXT_HEAD = 24,            /* of the allocator, rounded up */
};

void text_rows_release(struct text_rows *rows) {
    for (int64_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].fault);
    }
    free(rows->rows);
    free(rows->ids);
    free(rows->labels);
    free(rows->types);
    free(rows->label);
    free(rows->columns[0]);
    free(rows->columns[1]);
    json_decref(rows->paths);
    json_decref(rows->classes);
    tokenizer_memory_freep(&rows->memory);
    tokenizer_freep(&rows->tokenizer);
}

int text_rows_tokenizer(struct text_rows *rows, const char *path, struct error *err) {
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(text_freep) char *json = NULL;
    size_t size = 0;
    if (local_file_open(path, &file, err) < 0 ||
        local_file_read(&file, TOKENIZER_FILE_MAX, &json, &size, NULL, err) < 0) {
        return error_context(err, "tokenizer");
    }
    digest_sha256(json, size, rows->tokenizer_digest);
    if (tokenizer_parse(json, size, &rows->tokenizer, err) < 0) {
        return error_context(err, "tokenizer: %.200s", path);
    }
    rows->memory = tokenizer_memory_new();
    rows->padding = tokenizer_read_padding(rows->tokenizer);
    return 0;
}

void text_rows_describe(const struct text_rows *rows, int64_t index,
                        char text[static DATASET_NAME_MAX]) {
    const struct text_row *row = &rows->rows[index];
    int written = snprintf(text, DATASET_NAME_MAX, "%.300s: row %lld",
                           json_string_value(json_array_get(rows->paths, row->file)),
                           (long long)(index - rows->firsts[row->file] + 1));
    if (!rows->format.is_parquet) {
        snprintf(text + written, DATASET_NAME_MAX - (size_t)written, " (byte %lld)",
                 (long long)row->at);
    }
}

/* ---- labels --------------------------------------------------------------------------------- */

/* The number of a class that is given by its text or its number; false: it is neither. */
static bool find_number(const struct text_rows *rows, const json_t *field, int64_t *ret_number) {
    const char *text = json_string_value(field);
    char *end = NULL;
    if (rows->classes) {
        const json_t *found = text ? json_object_get(rows->classes, text) : NULL;
        *ret_number = json_integer_value(found);
        return found != NULL;
    }
    if (!json_is_integer(field) && !(text && *text)) {
        return false;
    }
    *ret_number = text ? strtoll(text, &end, 10) : json_integer_value(field);
    return !end || !*end;
}

/* A class; -1: it is not a class; -2: a word's that does not count. The loss leaves such
 * places out by their number; if they were counted here, they would make it too small. */
static int32_t class_of(const struct text_rows *rows, const json_t *field) {
    int64_t number = -1;
    if (!find_number(rows, field, &number)) {
        return -1;
    }
    bool is_ignored = rows->has_words && number == rows->ignored;
    return is_ignored ? -2 : number >= 0 && number < DATASET_CLASSES_MAX ? (int32_t)number : -1;
}

static char *label_fault(const struct text_rows *rows, const json_t *field) {
    AUTO(text_freep) char *shown = field ? json_dumps(field, JSON_ENCODE_ANY) : NULL;
    return x_printf("column \"%.64s\": %.60s is not %s", rows->label, shown ? shown : "nothing",
                    rows->classes ? "one of classes" : "a class, a whole number from 0");
}

static void note_class(struct text_rows *rows, int32_t label) {
    rows->class_count = MAX(rows->class_count, label + 1);
    rows->has_first_class |= label == 0;
}

/* ---- a row ---------------------------------------------------------------------------------- */

static int no_memory(const struct text_rows *rows, struct error *err) {
    return error_set(
        err, ERROR_EXHAUSTED,
        "the texts do not fit in the %lld MiB that data may take (the first %lld do); raise "
        "resources.limits.memory",
        (long long)(rows->memory_bytes >> 20), (long long)rows->count);
}

/* For one row more, of this many tokens. */
static int make_room(struct text_rows *rows, size_t tokens, struct error *err) {
    size_t each = sizeof(int32_t) * (rows->has_words ? 2 : 1) + 1;
    int64_t bytes = (int64_t)((rows->tokens + tokens) * each) + rows->fault_bytes +
                    (rows->count + 1) * (int64_t)sizeof *rows->rows;
    if (rows->count == DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d rows", DATASET_COUNT_MAX);
    }
    if (bytes > rows->memory_bytes) {
        return no_memory(rows, err);
    }
    if ((size_t)rows->count == rows->row_room) {
        rows->row_room = 2 * rows->row_room + 1024;
        rows->rows = x_realloc_array(rows->rows, rows->row_room, sizeof *rows->rows);
    }
    if (rows->tokens + tokens > rows->token_room) {
        rows->token_room = 2 * rows->token_room + tokens + 4096;
        rows->ids = x_realloc_array(rows->ids, rows->token_room, sizeof *rows->ids);
        rows->types = x_realloc_array(rows->types, rows->token_room, sizeof *rows->types);
        if (rows->has_words) {
            rows->labels = x_realloc_array(rows->labels, rows->token_room, sizeof *rows->labels);
        }
    }
    return 0;
}

/* Without what the file fills up. */
static size_t count_own(const struct tokenizer_tokens *tokens) {
    size_t count = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        count += tokens->mask[i];
    }
    return count;
}

/* What a tokenizer file fills up is left out: a sample is filled up to maxLength. */
static void take_tokens(struct text_rows *rows, const struct tokenizer_tokens *tokens,
                        struct text_row *row) {
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->mask[i]) {
            rows->ids[row->first + (size_t)row->count] = tokens->ids[i];
            rows->types[row->first + (size_t)row->count] = tokens->types[i];
            row->count++;
        }
    }
}

/* The text of a column; of a list of words these with a space between them. */
static char *text_of(const struct text_rows *rows, const json_t *words, const json_t *object,
                     size_t column) {
    const json_t *field = json_object_get(object, rows->columns[column]);
    return rows->has_words         ? text_words_join(words)
           : json_is_string(field) ? x_strndup(json_string_value(field), json_string_length(field))
                                   : NULL;
}

static char *no_text(const struct text_rows *rows, size_t column) {
    return x_printf("column \"%.64s\": %s is expected", rows->columns[column],
                    rows->has_words ? "a string, or a list of words," : "a string");
}

/* Appends the tokens; returns why there are none. -1 in *ret_result: memory. */
static char *encode(struct text_rows *rows, const json_t *words, const json_t *object,
                    struct text_row *row, int *ret_result, struct error *err) {
    AUTO(text_freep) char *first = text_of(rows, words, object, 0);
    AUTO(text_freep) char *second = rows->column_count > 1 ? text_of(rows, words, object, 1) : NULL;
    if (!first || (rows->column_count > 1 && !second)) {
        return no_text(rows, first ? 1 : 0);
    }
    struct tokenizer_input input = {.text = first, .size = strlen(first), .second = second};
    input.second_size = second ? strlen(second) : 0;
    input.length_max = rows->length;
    struct tokenizer_tokens tokens;
    struct error cause = {0};
    if (input.size > TEXT_BYTES_MAX || input.second_size > TEXT_BYTES_MAX) {
        return x_printf("a text of more than %d bytes", TEXT_BYTES_MAX);
    }
    if (tokenizer_encode(rows->tokenizer, rows->memory, &input, &tokens, &cause) < 0) {
        return x_strdup(cause.text);
    }
    *ret_result = make_room(rows, tokens.count, err);
    if (*ret_result < 0) {
        return NULL;
    }
    take_tokens(rows, &tokens, row);
    if (row->count == 0) {
        return x_strdup("the text has no tokens");
    }
    if ((size_t)row->count == rows->length) { /* it was, or was not, longer */
        input.length_max = WHOLE;
        rows->cut +=
            tokenizer_encode(rows->tokenizer, rows->memory, &input, &tokens, &cause) == 0 &&
            count_own(&tokens) > rows->length;
    }
    return NULL;
}

/* The classes of the words at their first tokens. */
static char *place_labels(struct text_rows *rows, const json_t *words, const json_t *field,
                          struct text_row *row) {
    AUTO(tree_freep) json_t *labels = text_words_split(field);
    size_t count = json_array_size(words);
    if (!labels || json_array_size(labels) != count) {
        return x_printf("column \"%.64s\" has %zu classes for %zu words of column \"%.64s\"",
                        rows->label, json_array_size(labels), count, rows->columns[0]);
    }
    int32_t *classes = x_calloc(count + 1, sizeof *classes);
    char *fault = NULL;
    for (size_t i = 0; !fault && i < count; i++) {
        classes[i] = class_of(rows, json_array_get(labels, i));
        fault = classes[i] == -1 ? label_fault(rows, json_array_get(labels, i)) : NULL;
        classes[i] = MAX(classes[i], -1);
    }
    int32_t *own = rows->labels + row->first;
    const struct text_words given = {words, classes, rows->ids + row->first, (size_t)row->count};
    fault = fault ? fault : text_words_place(rows, &given, own);
    for (int32_t i = 0; !fault && i < row->count; i++) {
        row->counted += own[i] >= 0;
        note_class(rows, own[i]);
    }
    free(classes);
    return fault;
}

static char *fill_row(struct text_rows *rows, const json_t *object, struct text_row *row,
                      int *ret_result, struct error *err) {
    const json_t *field = json_object_get(object, rows->label);
    AUTO(tree_freep)
    json_t *words =
        rows->has_words ? text_words_split(json_object_get(object, rows->columns[0])) : NULL;
    if (rows->has_words && !words) {
        return no_text(rows, 0);
    }
    for (size_t i = 0; i < json_array_size(words); i++) {
        if (!json_is_string(json_array_get(words, i))) {
            return x_printf("column \"%.64s\": word %zu is not a string", rows->columns[0], i + 1);
        }
    }
    row->label = rows->has_words ? 0 : class_of(rows, field);
    if (row->label < 0) {
        return label_fault(rows, field);
    }
    char *fault = encode(rows, words, object, row, ret_result, err);
    if (fault || *ret_result < 0 || rows->has_words) {
        return fault || *ret_result < 0 ? fault : place_labels(rows, words, field, row);
    }
    note_class(rows, row->label);
    return NULL;
}

/* json: a row as the parser writes it; fault: or why there is none. */
static int add_row(struct text_rows *rows, struct text_row row, const struct buffer *json,
                   const char *fault, struct error *err) {
    int result = make_room(rows, 0, err);
    json_t *object = table_rows_object(json, fault, &row.fault);
    row.first = rows->tokens;
    if (object && result == 0) {
        row.fault = fill_row(rows, object, &row, &result, err);
    }
    json_decref(object);
    if (result < 0) {
        free(row.fault);
        return -1;
    }
    if (row.fault) {
        row.count = row.counted = 0;
        rows->fault_bytes += (int64_t)strlen(row.fault) + TEXT_HEAD;
    }
    rows->tokens += (size_t)row.count;
    rows->digest = digest_crc32c(rows->digest, &row.label, sizeof row.label);
    if (row.count) {
        size_t bytes = (size_t)row.count * sizeof(int32_t);
        rows->digest = digest_crc32c(rows->digest, rows->ids + row.first, bytes);
        rows->digest = rows->has_words
                           ? digest_crc32c(rows->digest, rows->labels + row.first, bytes)
                           : rows->digest;
    }
    rows->rows[rows->count++] = row;
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int check_columns(const struct text_rows *rows, const struct table_file *file,
                         struct error *err) {
    if (!rows->format.has_header) { /* of JSON Lines each row has its own; Parquet has checked */
        return 0;
    }
    AUTO(tree_freep) json_t *names = json_loads(row_parser_columns(file->rows), 0, NULL);
    for (size_t i = 0; i <= rows->column_count; i++) {
        const char *column = i < rows->column_count ? rows->columns[i] : rows->label;
        bool is_there = false;
        for (size_t k = 0; k < json_array_size(names); k++) {
            is_there |= strcmp(json_string_value(json_array_get(names, k)), column) == 0;
        }
        if (!is_there) {
            return error_set(err, ERROR_INVALID, "its header has no column \"%.64s\"", column);
        }
    }
    return 0;
}

static int read_rows(struct text_rows *rows, size_t index, struct store *store,
                     struct table_file *file, const struct dataset_options *options,
                     struct error *err) {
    AUTO(table_rows_release) struct table_rows reader = {0};
    AUTO(buffer_release) struct buffer json;
    const char *fault = NULL;
    int more;
    buffer_init(&json, 2 * (size_t)ROW_BYTES_MAX);
    table_rows_start(&reader, store, file, file->first, file->end);
    while ((more = table_rows_next(&reader, &json, &fault, err)) > 0) {
        struct text_row row = {.at = table_rows_place(&reader), .file = (uint16_t)index};
        if (add_row(rows, row, &json, fault, err) < 0) {
            return -1;
        }
        if (rows->count % STOP_ROWS == 0 && stop_is_requested(options->is_stopped)) {
            return error_set(err, ERROR_CANCELLED, "stopped");
        }
    }
    return more;
}

static int read_file(struct text_rows *rows, size_t index, const struct table_format *format,
                     const struct dataset_options *options, struct error *err) {
    const char *path = json_string_value(json_array_get(rows->paths, index));
    AUTO(source_release) struct source source = {0};
    AUTO(table_file_release) struct table_file file = {0};
    rows->firsts[index] = rows->count;
    if (source_open(path, &source, err) < 0) {
        return -1;
    }
    if (!source.file) {
        return error_set(err, ERROR_INVALID, "%s: is a folder", path);
    }
    if (table_file_open(source.store, source.file, *format, NULL, &file, err) < 0) {
        return -1;
    }
    return check_columns(rows, &file, err) < 0 ||
                   read_rows(rows, index, source.store, &file, options, err) < 0
               ? error_context(err, "%s", path)
               : 0;
}

int text_rows_read(struct text_rows *rows, const struct dataset_options *options,
                   struct error *err) {
    AUTO(tree_freep) json_t *wanted = json_array();
    struct table_format format = rows->format;
    int64_t good = 0;
    for (size_t i = 0; i < rows->column_count; i++) {
        json_array_append_new(wanted, json_string(rows->columns[i]));
    }
    json_array_append_new(wanted, json_string(rows->label));
    format.columns = format.is_parquet ? wanted : NULL;
    for (size_t i = 0; i < json_array_size(rows->paths); i++) {
        if (read_file(rows, i, &format, options, err) < 0) {
            return -1;
        }
    }
    for (int64_t i = 0; i < rows->count; i++) {
        good += !rows->rows[i].fault;
    }
    if (good == 0 || rows->class_count == 0) {
        const char *fault = rows->count ? rows->rows[0].fault : NULL;
        return error_set(err, ERROR_INVALID, "%s: it has no row that can be used%s%.200s",
                         json_string_value(json_array_get(rows->paths, 0)),
                         fault ? "; the first: " : "", fault ? fault : "");
    }
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

void text_rows_fill(const struct text_rows *rows, const struct text_row *row,
                    const struct text_sample *to) {
    int64_t length = (int64_t)rows->length, start = rows->padding.is_left ? length - row->count : 0;
    for (int64_t i = 0; i < length; i++) {
        bool is_own = i >= start && i < start + row->count;
        size_t from = is_own ? row->first + (size_t)(i - start) : 0;
        to->ids[i] = is_own ? rows->ids[from] : rows->padding.id;
        to->mask[i] = is_own;
        to->types[i] = is_own ? rows->types[from] : rows->padding.type;
        to->positions[i] = is_own ? i - start : 0;
        if (to->labels) {
            bool counts = is_own && rows->labels[from] >= 0;
            to->labels[i] = counts ? rows->labels[from] : rows->ignored;
        }
    }
}
