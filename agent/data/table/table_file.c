// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/table_file.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_BYTES = 3 /* of the UTF-8 byte order mark */ };

struct table_format table_file_format(const json_t *spec) {
    const char *name = tree_text(spec, "input.table.format", "");
    enum split_format split = strcmp(name, "TSV") == 0         ? SPLIT_TSV
                              : strcmp(name, "JSONLines") == 0 ? SPLIT_LINES
                                                               : SPLIT_CSV;
    const json_t *columns = tree_get(spec, "input.table.columns");
    return (struct table_format){
        .split = split,
        .has_header = split != SPLIT_LINES && tree_bool(spec, "input.table.header", false),
        .is_parquet = strcmp(name, "Parquet") == 0 || tree_get(spec, "input.table.query"),
        .columns = columns,
        .wants_all = !columns && !tree_get(spec, "scorer.onnx"),
    };
}

void table_file_release(struct table_file *file) {
    free(file->name);
    row_parser_free(file->rows);
    table_parquet_free(file->parquet);
    free(file->bytes);
    *file = (struct table_file){0};
}

static int refuse_changed(struct store *store, const char *name, struct error *err) {
    error_clear(err);
    return error_set(err, ERROR_CONFLICT, "%s/%s: has changed since it was listed",
                     store_path(store), name);
}

int table_file_read(struct store *store, const struct table_file *file, int64_t offset, void *data,
                    size_t size, struct error *err) {
    size_t got = 0;
    if (size == 0) {
        return 0;
    }
    if (store_read(store, file->name, &(struct store_piece){offset, data, size, file->info.token},
                   &got, err) < 0) {
        return err->kind == ERROR_CONFLICT ? refuse_changed(store, file->name, err) : -1;
    }
    return got == size ? 0 : refuse_changed(store, file->name, err);
}

/* Reads the file's columns and finds where its rows begin; errors do not name the file. */
static int read_head(struct table_format format, const char *head, size_t size, bool has_all,
                     struct table_file *file, struct error *err) {
    struct row_parser_options options = {.format = format.split, .row_bytes_max = ROW_BYTES_MAX};
    struct row_header header = {.end = split_mark(head, size)};
    if (size >= strlen(PARQUET_MAGIC) && memcmp(head, PARQUET_MAGIC, strlen(PARQUET_MAGIC)) == 0) {
        return error_set(err, ERROR_INVALID,
                         "is a Parquet file: set spec.input.table.format to Parquet");
    }
    if (format.has_header) {
        if (row_parser_header(format.split, head, size, has_all, &header, err) < 0) {
            return -1;
        }
        options.header = head + header.first;
        options.header_size = header.end - header.first;
    }
    file->first = (int64_t)header.end;
    return row_parser_new(&options, &file->rows, err);
}

static int open_text(struct store *store, struct table_format format, struct table_file *file,
                     struct error *err) {
    size_t size = (size_t)MIN(file->info.size_bytes, (int64_t)(ROW_HEADER_MAX + MARK_BYTES));
    AUTO(text_freep) char *head = x_malloc(size + 1);
    struct error cause = {0};
    if (table_file_read(store, file, 0, head, size, err) < 0) {
        return -1;
    }
    file->end = file->info.size_bytes;
    if (read_head(format, head, size, (int64_t)size == file->info.size_bytes, file, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s/%s", store_path(store), file->name);
    }
    return 0;
}

/* ---- Parquet -------------------------------------------------------------------------------- */

struct table_file_bytes {
    struct store *store;
    struct table_file file; /* borrowed; only name and token */
};

static int read_bytes(void *context, int64_t offset, void *data, size_t size, struct error *err) {
    const struct table_file_bytes *bytes = context;
    return table_file_read(bytes->store, &bytes->file, offset, data, size, err);
}

static int open_parquet(struct store *store, struct table_format format, struct table_file *file,
                        struct error *err) {
    struct error cause = {0};
    file->bytes = x_calloc(1, sizeof *file->bytes);
    *file->bytes =
        (struct table_file_bytes){.store = store, .file = {.name = file->name, .info = file->info}};
    const struct table_parquet_options options = {
        .source = {.read = read_bytes, .context = file->bytes, .size_bytes = file->info.size_bytes},
        .columns = format.columns,
        .wants_all = format.wants_all};
    if (table_parquet_new(&options, &file->parquet, &cause) < 0) {
        *err = cause;
        return cause.kind == ERROR_INVALID /* others begin with the path */
                   ? error_context(err, "%s/%s", store_path(store), file->name)
                   : -1;
    }
    file->end = table_parquet_rows(file->parquet);
    return 0;
}

int table_file_open(struct store *store, const char *name, struct table_format format,
                    const char *token, struct table_file *file, struct error *err) {
    struct table_file opened = {.name = x_strdup(name)};
    table_file_release(file);
    int result = store_stat(store, name, &opened.info, err);
    if (result == 0 && token && strcmp(token, opened.info.token) != 0) {
        result = refuse_changed(store, name, err);
    }
    if (result == 0) {
        result = format.is_parquet ? open_parquet(store, format, &opened, err)
                                   : open_text(store, format, &opened, err);
    }
    if (result < 0) {
        table_file_release(&opened);
        return -1;
    }
    *file = opened;
    return 0;
}

int table_file_check_columns(struct table_columns *columns, struct store *store,
                             const struct table_file *file, struct error *err) {
    const char *names =
        file->parquet ? table_parquet_columns(file->parquet) : row_parser_columns(file->rows);
    if (!columns->names) {
        columns->names = x_strdup(names);
        columns->of = x_strdup(file->name);
    }
    return strcmp(columns->names, names) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "%s/%s: columns are %.100s, expected %.100s as in %s", store_path(store),
                           file->name, names, columns->names, columns->of);
}

void table_file_columns_release(struct table_columns *columns) {
    free(columns->names);
    free(columns->of);
    *columns = (struct table_columns){0};
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool read_offset(const json_t *line, size_t at, int64_t *ret_offset) {
    const json_t *number = json_array_get(line, at);
    *ret_offset = json_integer_value(number);
    return json_is_integer(number) && *ret_offset >= 0;
}

bool table_file_block_read(const json_t *line, struct table_block *ret_block) {
    const json_t *name = json_array_get(line, 0);
    ret_block->name = json_string_value(name);
    ret_block->token = json_string_value(json_array_get(line, 3));
    return ret_block->name && *ret_block->name && ret_block->token &&
           strlen(ret_block->name) == json_string_length(name) &&
           strlen(ret_block->name) <= STORE_NAME_MAX && read_offset(line, 1, &ret_block->first) &&
           read_offset(line, 2, &ret_block->end) && ret_block->end > ret_block->first;
}

int table_file_block_write(const struct table_block *block, struct buffer *line,
                           struct error *err) {
    buffer_clear(line);
    return buffer_append(line, "[\"", 2, err) < 0 ||
                   jsontext_escape(line, block->name, strlen(block->name), err) < 0 ||
                   buffer_printf(line, err, "\",%lld,%lld,\"", (long long)block->first,
                                 (long long)block->end) < 0 ||
                   jsontext_escape(line, block->token, strlen(block->token), err) < 0 ||
                   buffer_append(line, "\"]", 2, err) < 0
               ? -1
               : 0;
}
