// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/parquet_writer.h"

#include "agent/data/parquet/thrift_writer.h"

#include <stdlib.h>
#include <string.h>

enum {
    FORMAT = 2,
    END_BYTES_MAX = 1 << 30,
    GROUPS_MAX = INT16_MAX,
};

struct row_group {
    int64_t first_byte, rows;
    struct chunk_summary *columns;
};

struct parquet_writer {
    struct parquet_writer_options options;
    struct parquet_column *columns; /* names are owned */
    struct chunk_writer **chunks;
    int64_t bytes; /* of the file so far */
    int64_t rows, all_rows;
    struct row_group *groups;
    size_t group_count, group_room;
};

struct parquet_writer *parquet_writer_new(const struct parquet_writer_options *options) {
    struct parquet_writer *writer = x_calloc(1, sizeof *writer);
    writer->options = *options;
    writer->columns = x_calloc(options->count, sizeof *writer->columns);
    writer->chunks = x_calloc(options->count, sizeof *writer->chunks);
    for (size_t i = 0; i < options->count; i++) {
        writer->columns[i] = options->columns[i];
        writer->columns[i].name = x_strdup(options->columns[i].name);
        writer->chunks[i] = chunk_writer_new(options->columns[i].kind, options->codec);
    }
    return writer;
}

void parquet_writer_free(struct parquet_writer *writer) {
    if (!writer) {
        return;
    }
    for (size_t i = 0; i < writer->options.count; i++) {
        free((char *)writer->columns[i].name);
        chunk_writer_free(writer->chunks[i]);
    }
    for (size_t i = 0; i < writer->group_count; i++) {
        free(writer->groups[i].columns);
    }
    free(writer->groups);
    free(writer->chunks);
    free(writer->columns);
    free(writer);
}

struct chunk_writer *parquet_writer_column(struct parquet_writer *writer, size_t column) {
    return writer->chunks[column];
}

static int write_out(struct parquet_writer *writer, const void *data, size_t size,
                     struct error *err) {
    writer->bytes += (int64_t)size;
    return writer->options.take(writer->options.context, data, size, err);
}

static int begin_file(struct parquet_writer *writer, struct error *err) {
    return writer->bytes ? 0 : write_out(writer, PARQUET_MAGIC, strlen(PARQUET_MAGIC), err);
}

static int take_chunk(void *context, const void *data, size_t size, struct error *err) {
    return write_out(context, data, size, err);
}

/* ---- row groups ----------------------------------------------------------------------------- */

static struct row_group *add_group(struct parquet_writer *writer) {
    if (writer->group_count == writer->group_room) {
        writer->group_room = MAX(writer->group_room * 2, (size_t)16);
        writer->groups =
            x_realloc_array(writer->groups, writer->group_room, sizeof *writer->groups);
    }
    struct row_group *group = &writer->groups[writer->group_count++];
    *group = (struct row_group){
        .first_byte = writer->bytes,
        .rows = writer->rows,
        .columns = x_calloc(writer->options.count, sizeof *group->columns),
    };
    return group;
}

static int end_group(struct parquet_writer *writer, struct error *err) {
    if (writer->rows == 0) {
        return 0;
    }
    if (writer->group_count == GROUPS_MAX) {
        return error_set(err, ERROR_EXHAUSTED, "more than %d row groups", GROUPS_MAX);
    }
    if (begin_file(writer, err) < 0) {
        return -1;
    }
    struct row_group *group = add_group(writer);
    for (size_t i = 0; i < writer->options.count; i++) {
        if (chunk_writer_end(writer->chunks[i], writer->bytes, take_chunk, writer,
                             &group->columns[i], err) < 0) {
            return -1;
        }
    }
    writer->all_rows += writer->rows;
    writer->rows = 0;
    return 0;
}

int parquet_writer_end_row(struct parquet_writer *writer, struct error *err) {
    size_t bytes = 0;
    writer->rows++;
    for (size_t i = 0; i < writer->options.count; i++) {
        bytes += chunk_writer_bytes(writer->chunks[i]);
    }
    bool is_full = bytes >= PARQUET_GROUP_BYTES || writer->rows >= PARQUET_GROUP_ROWS;
    return is_full ? end_group(writer, err) : 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void put_name(struct thrift_writer *thrift, int id, const char *name) {
    thrift_writer_text(thrift, id, name, strlen(name));
}

/* An element of the schema; logical 0: none. The caller ends the struct. */
static void put_element(struct thrift_writer *thrift, const char *name, int repetition) {
    thrift_writer_begin(thrift, 0);
    thrift_writer_i32(thrift, 3, repetition);
    put_name(thrift, 4, name);
}

static void put_leaf(struct thrift_writer *thrift, const char *name, enum parquet_kind kind) {
    bool is_text = kind == PARQUET_KIND_TEXT;
    thrift_writer_begin(thrift, 0);
    thrift_writer_i32(thrift, 1, (int32_t)chunk_writer_type(kind));
    thrift_writer_i32(thrift, 3, PARQUET_OPTIONAL);
    put_name(thrift, 4, name);
    if (is_text || kind == PARQUET_KIND_JSON) {
        thrift_writer_i32(thrift, 6, is_text ? PARQUET_CONVERTED_UTF8 : PARQUET_CONVERTED_JSON);
        thrift_writer_begin(thrift, 10);
        thrift_writer_begin(thrift, is_text ? PARQUET_LOGICAL_STRING : PARQUET_LOGICAL_JSON);
        thrift_writer_end(thrift);
        thrift_writer_end(thrift);
    }
    thrift_writer_end(thrift);
}

static void put_list(struct thrift_writer *thrift, const struct parquet_column *column) {
    put_element(thrift, column->name, PARQUET_OPTIONAL);
    thrift_writer_i32(thrift, 5, 1);
    thrift_writer_i32(thrift, 6, PARQUET_CONVERTED_LIST);
    thrift_writer_begin(thrift, 10);
    thrift_writer_begin(thrift, PARQUET_LOGICAL_LIST);
    thrift_writer_end(thrift);
    thrift_writer_end(thrift);
    thrift_writer_end(thrift);
    put_element(thrift, "list", PARQUET_REPEATED);
    thrift_writer_i32(thrift, 5, 1);
    thrift_writer_end(thrift);
    put_leaf(thrift, "element", column->kind);
}

static void put_schema(struct thrift_writer *thrift, const struct parquet_writer *writer) {
    size_t elements = 1;
    for (size_t i = 0; i < writer->options.count; i++) {
        elements += chunk_writer_is_list(writer->columns[i].kind) ? 3 : 1;
    }
    thrift_writer_list(thrift, 2, THRIFT_STRUCT, elements);
    thrift_writer_begin(thrift, 0);
    put_name(thrift, 4, "schema");
    thrift_writer_i32(thrift, 5, (int32_t)writer->options.count);
    thrift_writer_end(thrift);
    for (size_t i = 0; i < writer->options.count; i++) {
        const struct parquet_column *column = &writer->columns[i];
        if (chunk_writer_is_list(column->kind)) {
            put_list(thrift, column);
        } else {
            put_leaf(thrift, column->name, column->kind);
        }
    }
}

static void put_statistics(struct thrift_writer *thrift, const struct chunk_summary *summary) {
    thrift_writer_begin(thrift, 12);
    thrift_writer_i64(thrift, 3, summary->nulls);
    if (summary->has_range) {
        thrift_writer_text(thrift, 5, (const char *)summary->range.max, summary->range.max_size);
        thrift_writer_text(thrift, 6, (const char *)summary->range.min, summary->range.min_size);
    }
    thrift_writer_end(thrift);
}

static void put_path(struct thrift_writer *thrift, const struct parquet_column *column) {
    bool is_list = chunk_writer_is_list(column->kind);
    thrift_writer_list(thrift, 3, THRIFT_BINARY, is_list ? 3 : 1);
    put_name(thrift, 0, column->name);
    if (is_list) {
        put_name(thrift, 0, "list");
        put_name(thrift, 0, "element");
    }
}

static void put_chunk(struct thrift_writer *thrift, const struct parquet_column *column,
                      const struct chunk_summary *summary, enum parquet_codec codec) {
    bool has_dictionary = summary->dictionary_at >= 0;
    thrift_writer_begin(thrift, 0);
    thrift_writer_i64(thrift, 2, 0);
    thrift_writer_begin(thrift, 3);
    thrift_writer_i32(thrift, 1, (int32_t)chunk_writer_type(column->kind));
    thrift_writer_list(thrift, 2, THRIFT_I32, has_dictionary ? 3 : 2);
    thrift_writer_i32(thrift, 0, PARQUET_PLAIN);
    thrift_writer_i32(thrift, 0, PARQUET_RLE);
    if (has_dictionary) {
        thrift_writer_i32(thrift, 0, PARQUET_RLE_DICTIONARY);
    }
    put_path(thrift, column);
    thrift_writer_i32(thrift, 4, (int32_t)codec);
    thrift_writer_i64(thrift, 5, summary->values);
    thrift_writer_i64(thrift, 6, summary->plain_bytes);
    thrift_writer_i64(thrift, 7, summary->stored_bytes);
    thrift_writer_i64(thrift, 9, summary->data_at);
    if (has_dictionary) {
        thrift_writer_i64(thrift, 11, summary->dictionary_at);
    }
    put_statistics(thrift, summary);
    thrift_writer_end(thrift);
    thrift_writer_end(thrift);
}

static void put_group(struct thrift_writer *thrift, const struct parquet_writer *writer,
                      size_t number) {
    const struct row_group *group = &writer->groups[number];
    int64_t plain_bytes = 0, stored_bytes = 0;
    thrift_writer_begin(thrift, 0);
    thrift_writer_list(thrift, 1, THRIFT_STRUCT, writer->options.count);
    for (size_t i = 0; i < writer->options.count; i++) {
        put_chunk(thrift, &writer->columns[i], &group->columns[i], writer->options.codec);
        plain_bytes += group->columns[i].plain_bytes;
        stored_bytes += group->columns[i].stored_bytes;
    }
    thrift_writer_i64(thrift, 2, plain_bytes);
    thrift_writer_i64(thrift, 3, group->rows);
    thrift_writer_i64(thrift, 5, group->first_byte);
    thrift_writer_i64(thrift, 6, stored_bytes);
    thrift_writer_i16(thrift, 7, (int16_t)number);
    thrift_writer_end(thrift);
}

static int put_end(const struct parquet_writer *writer, struct buffer *end, struct error *err) {
    struct thrift_writer thrift = {.buffer = end};
    thrift_writer_i32(&thrift, 1, FORMAT);
    put_schema(&thrift, writer);
    thrift_writer_i64(&thrift, 3, writer->all_rows);
    thrift_writer_list(&thrift, 4, THRIFT_STRUCT, writer->group_count);
    for (size_t i = 0; i < writer->group_count; i++) {
        put_group(&thrift, writer, i);
    }
    put_name(&thrift, 6, "windlass");
    /* Smallest and largest values are in the order of their types. */
    thrift_writer_list(&thrift, 7, THRIFT_STRUCT, writer->options.count);
    for (size_t i = 0; i < writer->options.count; i++) {
        thrift_writer_begin(&thrift, 0);
        thrift_writer_begin(&thrift, 1);
        thrift_writer_end(&thrift);
        thrift_writer_end(&thrift);
    }
    thrift_writer_stop(&thrift);
    *err = thrift.err.kind ? thrift.err : *err;
    return thrift.err.kind ? -1 : 0;
}

int parquet_writer_finish(struct parquet_writer *writer, struct error *err) {
    AUTO(buffer_release) struct buffer end;
    buffer_init(&end, END_BYTES_MAX);
    if (end_group(writer, err) < 0 || begin_file(writer, err) < 0 ||
        put_end(writer, &end, err) < 0) {
        return -1;
    }
    uint32_t size = (uint32_t)end.size;
    return buffer_append(&end, &size, sizeof size, err) < 0 ||
                   buffer_append(&end, PARQUET_MAGIC, strlen(PARQUET_MAGIC), err) < 0
               ? -1
               : write_out(writer, end.data, end.size, err);
}
