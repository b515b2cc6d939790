// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/table_parquet.h"

#include "agent/data/parquet/parquet_claims.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ROWS_MAX = 1 << 20,
    UNPACKED_MAX = 4096, /* bytes that one of the file may unpack to */
};

struct table_parquet {
    struct parquet_file file;
    size_t *columns; /* places in the schema */
    size_t count;
    struct buffer names; /* table_parquet_columns */
    struct row_reader *reader;
};

void table_parquet_free(struct table_parquet *parquet) {
    if (parquet) {
        row_reader_free(parquet->reader);
        parquet_file_release(&parquet->file);
        buffer_release(&parquet->names);
        free(parquet->columns);
        free(parquet);
    }
}

static int refuse_column(const struct parquet_leaf *column, bool is_named, struct error *err) {
    return error_set(err, ERROR_INVALID, "column \"%.64s\" %s, which is not read%s", column->name,
                     column->refusal,
                     is_named ? "" : ": name the columns to read in spec.input.table.columns");
}

static int refuse_missing(const struct parquet_file *file, const char *name, struct error *err) {
    char names[200] = "";
    for (size_t i = 0; i < file->schema.count; i++) {
        size_t size = strlen(names);
        snprintf(names + size, sizeof names - size, "%s%.64s", i ? ", " : "",
                 file->schema.columns[i].name);
    }
    return error_set(err, ERROR_INVALID, "has no column \"%.64s\", but %s", name, names);
}

static int choose_named(struct table_parquet *parquet, const json_t *names, struct error *err) {
    const struct parquet_schema *schema = &parquet->file.schema;
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        size_t place = parquet_file_find(&parquet->file, name ? name : "");
        if (place == SIZE_MAX) {
            return refuse_missing(&parquet->file, name ? name : "", err);
        }
        if (schema->columns[place].refusal) {
            return refuse_column(&schema->columns[place], /* is_named= */ true, err);
        }
        parquet->columns[parquet->count++] = place;
    }
    return 0;
}

static int choose_all(struct table_parquet *parquet, bool wants_all, struct error *err) {
    const struct parquet_schema *schema = &parquet->file.schema;
    for (size_t i = 0; i < schema->count; i++) {
        if (!schema->columns[i].refusal) {
            parquet->columns[parquet->count++] = i;
        } else if (wants_all) {
            return refuse_column(&schema->columns[i], /* is_named= */ false, err);
        }
    }
    return 0;
}

static int write_names(struct table_parquet *parquet, struct error *err) {
    struct buffer *names = &parquet->names;
    int result = buffer_append(names, "[", 1, err);
    for (size_t i = 0; i < parquet->count && result == 0; i++) {
        const struct parquet_leaf *column = &parquet->file.schema.columns[parquet->columns[i]];
        result = buffer_printf(names, err, "%s\"", i ? "," : "") < 0 ||
                         jsontext_escape(names, column->name, strlen(column->name), err) < 0 ||
                         buffer_printf(names, err, " %s%s\"", parquet_meaning_name(column->kind),
                                       column->list_definition ? " list" : "") < 0
                     ? -1
                     : 0;
    }
    return result < 0 ? -1 : buffer_append(names, "]", 1, err);
}

int table_parquet_new(const struct table_parquet_options *options,
                      struct table_parquet **ret_parquet, struct error *err) {
    struct table_parquet *parquet = x_calloc(1, sizeof *parquet);
    size_t named = json_array_size(options->columns);
    buffer_init(&parquet->names, PARQUET_FOOTER_MAX);
    int result = parquet_file_open(&options->source, &parquet->file, err);
    if (result == 0) {
        parquet->columns =
            x_calloc(MAX(named, parquet->file.schema.count) + 1, sizeof *parquet->columns);
        result = options->columns ? choose_named(parquet, options->columns, err)
                                  : choose_all(parquet, options->wants_all, err);
    }
    if (result < 0 || write_names(parquet, err) < 0) {
        table_parquet_free(parquet);
        return -1;
    }
    parquet->reader = row_reader_new(&parquet->file, parquet->columns, parquet->count);
    *ret_parquet = parquet;
    return 0;
}

int64_t table_parquet_rows(const struct table_parquet *parquet) {
    return parquet->file.rows;
}

const char *table_parquet_columns(const struct table_parquet *parquet) {
    return parquet->names.data;
}

struct row_reader *table_parquet_reader(struct table_parquet *parquet) {
    return parquet->reader;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Bytes of the columns that are read, as the file says; at least one a row. What it says decides
 * only how many blocks there are, and is believed as far as those are bounded by its size. */
static int64_t group_bytes(const struct table_parquet *parquet, const struct parquet_group *group) {
    int64_t bytes = group->rows;
    for (size_t i = 0; i < parquet->count; i++) {
        const struct parquet_leaf *column = &parquet->file.schema.columns[parquet->columns[i]];
        const struct parquet_chunk *chunk = &group->chunks[column->leaf];
        int64_t most = MIN(chunk->size, INT64_MAX / 4 / UNPACKED_MAX / (int64_t)parquet->count);
        bytes += MIN(MAX(chunk->unpacked, 0), most * UNPACKED_MAX);
    }
    return bytes;
}

/* The end of the row groups from `number` on that fit into one block. */
static int join_groups(const struct table_parquet *parquet, size_t number, int64_t block_bytes,
                       int64_t *ret_end, struct error *err) {
    const struct parquet_file *file = &parquet->file;
    int64_t first = file->groups[number].first, bytes = 0, end = first;
    for (; number < file->group_count; number++) {
        const struct parquet_group *group = &file->groups[number];
        bytes += group_bytes(parquet, group);
        if (end > first &&
            (bytes > block_bytes || group->first + group->rows - first > BLOCK_ROWS_MAX)) {
            break;
        }
        if (parquet_claims_check(file, number, err) < 0) {
            return -1;
        }
        end = group->first + group->rows;
    }
    *ret_end = end;
    return 0;
}

int table_parquet_cut(const struct table_parquet *parquet, int64_t first, int64_t block_bytes,
                      int64_t *ret_end, struct error *err) {
    const struct parquet_file *file = &parquet->file;
    size_t number = parquet_file_group(file, first);
    const struct parquet_group *group = &file->groups[number];
    int64_t end = group->first + group->rows;
    int64_t parts =
        block_bytes == 0
            ? group->rows
            : MAX(group_bytes(parquet, group) / block_bytes, group->rows / BLOCK_ROWS_MAX) + 1;
    if (parts == 1 && first == group->first) {
        return join_groups(parquet, number, block_bytes, ret_end, err);
    }
    if (first == group->first && parquet_claims_check(file, number, err) < 0) {
        return -1;
    }
    *ret_end = MIN(first + (group->rows + parts - 1) / parts, end);
    return 0;
}
