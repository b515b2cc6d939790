// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/parquet_file.h"

#include <stdlib.h>
#include <string.h>

struct footer {
    struct parquet_file *file;
    struct thrift_reader reader;
    bool is_encrypted, has_path; /* columns in other files */
    int64_t rows_said;
};

/* ---- chunks --------------------------------------------------------------------------------- */

static void read_metadata(struct footer *footer, const struct thrift_field *of,
                          struct parquet_chunk *chunk) {
    struct thrift_reader *reader = &footer->reader;
    int64_t data = 0, dictionary = 0;
    if (!thrift_reader_enter(reader, of)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        int64_t *const numbers[] = {[5] = &chunk->values,
                                    [6] = &chunk->unpacked,
                                    [7] = &chunk->size,
                                    [9] = &data,
                                    [11] = &dictionary};
        if (field.id == 4) {
            chunk->codec = thrift_reader_i32(reader, &field);
        } else if ((size_t)field.id < ARRAY_LEN(numbers) && numbers[field.id]) {
            *numbers[field.id] = thrift_reader_whole(reader, &field);
        } else {
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
    /* Some writers say 0 if there is no dictionary. */
    chunk->start = dictionary > 0 && dictionary < data ? dictionary : data;
}

static void read_chunk(struct footer *footer, const struct thrift_field *of,
                       struct parquet_chunk *chunk) {
    struct thrift_reader *reader = &footer->reader;
    if (!thrift_reader_enter(reader, of)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        footer->is_encrypted = footer->is_encrypted || field.id == 8;
        if (field.id == 1) {
            footer->has_path = footer->has_path || thrift_reader_bytes(reader, &field).size > 0;
        } else if (field.id == 3) {
            read_metadata(footer, &field, chunk);
        } else {
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
}

static void read_chunks(struct footer *footer, const struct thrift_field *field,
                        struct parquet_chunk *chunks) {
    struct thrift_field of;
    size_t count = thrift_reader_list(&footer->reader, field, &of);
    if (count != footer->file->schema.leaves) {
        thrift_reader_fail(&footer->reader, "a row group lacks columns");
    }
    for (size_t i = 0; i < count && !footer->reader.fault; i++) {
        read_chunk(footer, &of, &chunks[i]);
    }
}

/* ---- row groups ------------------------------------------------------------------------------ */

static void read_group(struct footer *footer, const struct thrift_field *of,
                       struct parquet_group *group, struct parquet_chunk *chunks) {
    struct thrift_reader *reader = &footer->reader;
    bool has_chunks = false;
    group->chunks = chunks;
    if (!thrift_reader_enter(reader, of)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        if (field.id == 1 && !has_chunks) {
            read_chunks(footer, &field, chunks);
            has_chunks = true;
        } else if (field.id == 3) {
            group->rows = thrift_reader_whole(reader, &field);
        } else {
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
    if (!has_chunks || group->rows < 0) {
        thrift_reader_fail(reader, "a row group without columns or rows");
    }
}

static int read_groups(struct footer *footer, const struct thrift_field *field, struct error *err) {
    struct parquet_file *file = footer->file;
    struct thrift_field of;
    if (!file->schema.columns) { /* thrift allows any order, and chunks are counted by the schema */
        return error_set(err, ERROR_INVALID, "damaged footer: row groups before the schema");
    }
    size_t count = thrift_reader_list(&footer->reader, field, &of);
    size_t leaves = file->schema.leaves;
    if (count > 0 && leaves > PARQUET_CHUNKS_MAX / count) {
        return error_set(err, ERROR_INVALID,
                         "has %zu row groups of %zu columns, at most %d chunks are read", count,
                         leaves, PARQUET_CHUNKS_MAX);
    }
    file->groups = x_calloc(count + 1, sizeof *file->groups);
    file->chunks = x_calloc(count * leaves + 1, sizeof *file->chunks);
    for (size_t i = 0; i < count && !footer->reader.fault; i++) {
        struct parquet_group *group = &file->groups[i];
        read_group(footer, &of, group, file->chunks + i * leaves);
        group->first = file->rows;
        if (group->rows > PARQUET_ROWS_MAX - file->rows) {
            thrift_reader_fail(&footer->reader, "row groups with too many rows");
            break;
        }
        file->rows += group->rows;
        file->group_count++;
    }
    return 0;
}

/* ---- what cannot be true --------------------------------------------------------------------- */

/* The column of a leaf; of leaves that are one refused column, that. */
static const struct parquet_leaf *column_of(const struct parquet_schema *schema, size_t leaf) {
    size_t place = 0;
    for (size_t count = schema->count; count > 1;) { /* the last column whose leaf is not behind */
        size_t half = count / 2;
        bool is_behind = schema->columns[place + half].leaf > leaf;
        place += is_behind ? 0 : half;
        count = is_behind ? half : count - half;
    }
    return &schema->columns[place];
}

/* NULL, or what is wrong. data_end: where the footer begins. */
static const char *chunk_fault(const struct parquet_leaf *column, const struct parquet_group *group,
                               const struct parquet_chunk *chunk, int64_t data_end) {
    bool is_empty = chunk->size == 0 && group->rows == 0; /* whose place may be any */
    if (!is_empty && (chunk->start < (int64_t)strlen(PARQUET_MAGIC) || chunk->start > data_end ||
                      chunk->size < 0 || chunk->size > data_end - chunk->start)) {
        return "its bytes are outside the file";
    }
    if (column->refusal) {
        return NULL;
    }
    if (chunk->size == 0 && group->rows > 0) {
        return "it has no bytes for its rows";
    }
    return chunk->values < group->rows || (!column->list_definition && chunk->values > group->rows)
               ? "it does not have as many values as its row group has rows"
               : NULL;
}

static int bad_chunk(const struct parquet_file *file, size_t number, const char *what,
                     struct error *err) {
    size_t leaves = file->schema.leaves;
    return error_set(err, ERROR_INVALID, "damaged footer: row group %zu: column \"%.64s\": %s",
                     number / leaves, column_of(&file->schema, number % leaves)->name, what);
}

static int by_start(const void *a, const void *b) {
    const struct parquet_chunk *one = *(const struct parquet_chunk *const *)a;
    const struct parquet_chunk *other = *(const struct parquet_chunk *const *)b;
    return (one->start > other->start) - (one->start < other->start);
}

/* Bytes that two chunks share would be rows that were never written, as many as a footer can name.
 * Between chunks there may be other things. */
static int check_overlaps(const struct parquet_file *file, struct error *err) {
    size_t count = file->group_count * file->schema.leaves, some = 0;
    const struct parquet_chunk **chunks = x_calloc(count + 1, sizeof(void *));
    bool is_sorted = true;
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        const struct parquet_chunk *chunk = &file->chunks[i];
        is_sorted &= some == 0 || chunks[some - 1]->start <= chunk->start || chunk->size == 0;
        chunks[some] = chunk;
        some += chunk->size > 0;
    }
    if (!is_sorted) {
        qsort(chunks, some, sizeof(void *), by_start);
    }
    for (size_t i = 1; i < some && result == 0; i++) {
        if (chunks[i - 1]->start + chunks[i - 1]->size > chunks[i]->start) {
            size_t number = (size_t)(MAX(chunks[i], chunks[i - 1]) - file->chunks);
            result = bad_chunk(file, number, "its bytes overlap another column's", err);
        }
    }
    free(chunks);
    return result;
}

static int check_groups(const struct parquet_file *file, int64_t data_end, struct error *err) {
    size_t leaves = file->schema.leaves;
    for (size_t i = 0; i < file->group_count * leaves; i++) {
        const char *what = chunk_fault(column_of(&file->schema, i % leaves),
                                       &file->groups[i / leaves], &file->chunks[i], data_end);
        if (what) {
            return bad_chunk(file, i, what, err);
        }
    }
    return check_overlaps(file, err);
}

/* ---- the footer ------------------------------------------------------------------------------ */

static int read_fields(struct footer *footer, struct error *err) {
    struct thrift_reader *reader = &footer->reader;
    struct parquet_file *file = footer->file;
    int result = 0;
    for (struct thrift_field field = {0}; result == 0 && thrift_reader_next(reader, &field);) {
        if (field.id == 2 && !file->schema.columns && !file->groups) {
            result = parquet_schema_read(reader, &field, &file->schema, err);
        } else if (field.id == 3) {
            footer->rows_said = thrift_reader_whole(reader, &field);
        } else if (field.id == 4 && !file->groups) {
            result = read_groups(footer, &field, err);
        } else {
            footer->is_encrypted = footer->is_encrypted || field.id == 8;
            thrift_reader_skip(reader, &field);
        }
    }
    return result;
}

static int read_footer(struct parquet_file *file, const char *data, size_t size,
                       struct error *err) {
    struct footer footer = {.file = file, .reader = thrift_reader_over(data, size)};
    if (read_fields(&footer, err) < 0) {
        return -1;
    }
    const char *what = footer.reader.fault;
    if (footer.is_encrypted) {
        return error_set(err, ERROR_INVALID, "is encrypted; encrypted files are not supported");
    }
    if (footer.has_path) {
        return error_set(err, ERROR_INVALID, "has columns in other files; that is not supported");
    }
    if (!what && !file->schema.columns) {
        what = "there are no columns";
    }
    if (!what && footer.rows_said != file->rows) {
        what = "its row groups do not have the number of rows that it declares";
    }
    return what ? error_set(err, ERROR_INVALID, "damaged footer: %s", what) : 0;
}

static uint32_t little_endian(const char *bytes) {
    const uint8_t *at = (const uint8_t *)bytes;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The footer's size, from the file's last bytes. */
static int read_tail(const struct parquet_source *source, int64_t *ret_size, struct error *err) {
    char tail[PARQUET_TAIL_BYTES];
    int64_t most = source->size_bytes - PARQUET_TAIL_BYTES - 4;
    if (most < 0) {
        return error_set(err, ERROR_INVALID, "is not a Parquet file: it has %lld bytes",
                         (long long)source->size_bytes);
    }
    if (source->read(source->context, source->size_bytes - PARQUET_TAIL_BYTES, tail, sizeof tail,
                     err) < 0) {
        return -1;
    }
    if (memcmp(tail + 4, PARQUET_MAGIC_ENCRYPTED, 4) == 0) {
        return error_set(err, ERROR_INVALID, "is encrypted; encrypted files are not supported");
    }
    if (memcmp(tail + 4, PARQUET_MAGIC, 4) != 0) {
        return error_set(err, ERROR_INVALID,
                         "is not a Parquet file, or cut: it does not end with \"PAR1\"");
    }
    *ret_size = little_endian(tail);
    if (*ret_size > most || *ret_size > PARQUET_FOOTER_MAX) {
        return error_set(err, ERROR_INVALID,
                         "damaged footer: it has %lld bytes, at most %lld can be",
                         (long long)*ret_size, (long long)MIN(most, PARQUET_FOOTER_MAX));
    }
    return 0;
}

int parquet_file_open(const struct parquet_source *source, struct parquet_file *ret_file,
                      struct error *err) {
    struct parquet_file file = {.source = *source};
    int64_t size = 0;
    if (read_tail(source, &size, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *data = x_malloc((size_t)size + 1);
    int64_t at = source->size_bytes - PARQUET_TAIL_BYTES - size;
    if ((size > 0 && source->read(source->context, at, data, (size_t)size, err) < 0) ||
        read_footer(&file, data, (size_t)size, err) < 0 || check_groups(&file, at, err) < 0) {
        parquet_file_release(&file);
        return -1;
    }
    *ret_file = file;
    return 0;
}

void parquet_file_release(struct parquet_file *file) {
    parquet_schema_release(&file->schema);
    free(file->groups);
    free(file->chunks);
    *file = (struct parquet_file){0};
}

size_t parquet_file_find(const struct parquet_file *file, const char *name) {
    for (size_t i = 0; i < file->schema.count; i++) {
        if (strcmp(file->schema.columns[i].name, name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t parquet_file_group(const struct parquet_file *file, int64_t row) {
    size_t first = 0; /* the first group that ends behind the row is one of `count` from here on */
    for (size_t count = file->group_count; count > 0;) {
        size_t half = count / 2;
        const struct parquet_group *group = &file->groups[first + half];
        bool is_before = group->first + group->rows <= row;
        first += is_before ? half + 1 : 0;
        count = is_before ? count - half - 1 : half;
    }
    return first;
}
