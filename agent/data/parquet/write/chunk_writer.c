// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/chunk_writer.h"

#include "agent/data/parquet/thrift_writer.h"
#include "agent/data/parquet/write/level_runs.h"
#include "agent/data/parquet/write/page_codec.h"
#include "agent/data/parquet/write/value_table.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BYTES_MAX = 1 << 30, /* a page with one long text; the format has 2 GiB */
    PAGE_LEVELS = 1 << 18,    /* entries after which a page ends */
    HEAD_BYTES_MAX = 1 << 10, /* of a page's head */
    NOTHING = 0,              /* definition levels of a list; of a value: 0 null, 1 present */
    EMPTY = 1,
    NULL_ELEMENT = 2,
    ELEMENT = 3,
};

struct levels {
    uint32_t *values;
    size_t count, room;
};

struct chunk_writer {
    enum parquet_type type;
    bool is_list;
    enum parquet_codec codec;
    struct page_codec *page_codec;
    struct levels defined, repeated; /* of the page; repeated: lists only */
    struct levels indices;           /* of its values in the dictionary */
    struct buffer values;            /* PLAIN, if there is no dictionary; booleans: a byte each */
    struct value_table table;
    bool has_table;       /* the values of this page are in the dictionary */
    bool has_table_pages; /* those of an earlier one are */
    struct buffer page;   /* scratch */
    struct buffer pages;  /* complete ones */
    int64_t nulls, entries, plain_bytes;
    bool has_plain;
    struct value_range range;
};

enum parquet_type chunk_writer_type(enum parquet_kind kind) {
    switch (kind) {
    case PARQUET_KIND_BOOLEAN:
        return PARQUET_BOOLEAN;
    case PARQUET_KIND_INTEGER:
    case PARQUET_KIND_INTEGERS:
        return PARQUET_INT64;
    case PARQUET_KIND_NUMBER:
    case PARQUET_KIND_NUMBERS:
        return PARQUET_DOUBLE;
    case PARQUET_KIND_FLOATS:
        return PARQUET_FLOAT;
    case PARQUET_KIND_TEXT:
    case PARQUET_KIND_JSON:
    default:
        return PARQUET_BYTE_ARRAY;
    }
}

bool chunk_writer_is_list(enum parquet_kind kind) {
    return kind == PARQUET_KIND_INTEGERS || kind == PARQUET_KIND_NUMBERS ||
           kind == PARQUET_KIND_FLOATS;
}

static void begin(struct chunk_writer *chunk) {
    chunk->has_table = !chunk->is_list && chunk->type != PARQUET_BOOLEAN;
    chunk->has_table_pages = chunk->has_plain = false;
    chunk->nulls = chunk->entries = chunk->plain_bytes = 0;
    value_range_clear(&chunk->range);
    value_table_clear(&chunk->table);
    buffer_clear(&chunk->pages);
}

struct chunk_writer *chunk_writer_new(enum parquet_kind kind, enum parquet_codec codec) {
    struct chunk_writer *chunk = x_calloc(1, sizeof *chunk);
    chunk->type = chunk_writer_type(kind);
    chunk->is_list = chunk_writer_is_list(kind);
    chunk->codec = codec;
    chunk->page_codec = page_codec_new(codec);
    buffer_init(&chunk->values, PAGE_BYTES_MAX);
    buffer_init(&chunk->page, PAGE_BYTES_MAX);
    buffer_init(&chunk->pages, 2 * (size_t)PAGE_BYTES_MAX);
    value_table_init(&chunk->table);
    begin(chunk);
    return chunk;
}

void chunk_writer_free(struct chunk_writer *chunk) {
    if (chunk) {
        free(chunk->defined.values);
        free(chunk->repeated.values);
        free(chunk->indices.values);
        buffer_release(&chunk->values);
        buffer_release(&chunk->page);
        buffer_release(&chunk->pages);
        value_table_release(&chunk->table);
        page_codec_free(chunk->page_codec);
        free(chunk);
    }
}

size_t chunk_writer_bytes(const struct chunk_writer *chunk) {
    size_t levels = chunk->defined.count + chunk->repeated.count + chunk->indices.count;
    return chunk->pages.size + chunk->values.size + chunk->table.bytes.size + 4 * levels;
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void add_level(struct levels *levels, uint32_t value) {
    if (levels->count == levels->room) {
        levels->room = MAX(levels->room * 2, (size_t)1024);
        levels->values = x_realloc_array(levels->values, levels->room, sizeof *levels->values);
    }
    levels->values[levels->count++] = value;
}

/* Levels begin with their size. */
static int put_levels(struct buffer *page, const struct levels *levels, uint32_t most,
                      struct error *err) {
    size_t at = page->size;
    if (buffer_append(page, "\0\0\0", 4, err) < 0 ||
        level_runs_add(page, levels->values, levels->count, level_runs_bits(most), err) < 0) {
        return -1;
    }
    uint32_t size = (uint32_t)(page->size - at - 4);
    memcpy(page->data + at, &size, 4);
    return 0;
}

static int put_bits(struct buffer *page, const struct buffer *booleans, struct error *err) {
    char *bytes = NULL;
    size_t size = (booleans->size + 7) / 8;
    if (size && buffer_extend(page, size, &bytes, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < booleans->size; i++) {
        bytes[i / 8] = (char)((i % 8 ? bytes[i / 8] : 0) | booleans->data[i] << i % 8);
    }
    return 0;
}

static int put_indices(struct buffer *page, const struct chunk_writer *chunk, struct error *err) {
    int bits = MAX(level_runs_bits((uint32_t)MAX(chunk->table.count, (size_t)1) - 1), 1);
    char width = (char)bits;
    return buffer_append(page, &width, 1, err) < 0
               ? -1
               : level_runs_add(page, chunk->indices.values, chunk->indices.count, bits, err);
}

static int put_values(struct buffer *page, const struct chunk_writer *chunk, struct error *err) {
    if (chunk->has_table) {
        return put_indices(page, chunk, err);
    }
    return chunk->type == PARQUET_BOOLEAN
               ? put_bits(page, &chunk->values, err)
               : buffer_append(page, chunk->values.data, chunk->values.size, err);
}

/* Compresses `page` and adds it, behind its head. dictionary: how many values it has; -1: it is a
 * page of data. */
static int put_page(struct chunk_writer *chunk, int64_t dictionary, struct buffer *out,
                    struct error *err) {
    AUTO(buffer_release) struct buffer head;
    AUTO(buffer_release) struct buffer stored;
    struct thrift_writer thrift = {.buffer = &head};
    bool is_data = dictionary < 0;
    buffer_init(&head, HEAD_BYTES_MAX);
    buffer_init(&stored, 2 * (size_t)PAGE_BYTES_MAX);
    if (page_codec_add(chunk->page_codec, chunk->page.data, chunk->page.size, &stored, err) < 0) {
        return -1;
    }
    thrift_writer_i32(&thrift, 1, is_data ? PARQUET_PAGE_DATA : PARQUET_PAGE_DICTIONARY);
    thrift_writer_i32(&thrift, 2, (int32_t)chunk->page.size);
    thrift_writer_i32(&thrift, 3, (int32_t)stored.size);
    thrift_writer_begin(&thrift, is_data ? 5 : 7);
    thrift_writer_i32(&thrift, 1, is_data ? (int32_t)chunk->defined.count : (int32_t)dictionary);
    thrift_writer_i32(&thrift, 2,
                      is_data && chunk->has_table ? PARQUET_RLE_DICTIONARY : PARQUET_PLAIN);
    if (is_data) {
        thrift_writer_i32(&thrift, 3, PARQUET_RLE);
        thrift_writer_i32(&thrift, 4, PARQUET_RLE);
    }
    thrift_writer_end(&thrift);
    thrift_writer_stop(&thrift);
    if (thrift.err.kind) {
        *err = thrift.err;
        return -1;
    }
    if (buffer_append(out, head.data, head.size, err) < 0) {
        return -1;
    }
    chunk->plain_bytes += (int64_t)(head.size + chunk->page.size);
    return buffer_append(out, stored.data, stored.size, err);
}

/* A dictionary that has grown to half of the values does not pay. */
static void review_dictionary(struct chunk_writer *chunk) {
    bool pays = chunk->table.count <= chunk->indices.count / 2 || chunk->indices.count == 0;
    chunk->has_table_pages = chunk->has_table_pages || chunk->has_table;
    chunk->has_plain = chunk->has_plain || !chunk->has_table;
    chunk->has_table = chunk->has_table && pays;
}

static int end_page(struct chunk_writer *chunk, struct error *err) {
    if (chunk->defined.count == 0) {
        return 0;
    }
    bool is_empty = chunk->has_table && chunk->table.count == 0; /* only nulls: no dictionary */
    chunk->has_table = chunk->has_table && !is_empty;
    buffer_clear(&chunk->page);
    if ((chunk->is_list && put_levels(&chunk->page, &chunk->repeated, 1, err) < 0) ||
        put_levels(&chunk->page, &chunk->defined, chunk->is_list ? ELEMENT : 1, err) < 0 ||
        put_values(&chunk->page, chunk, err) < 0 ||
        put_page(chunk, /* dictionary= */ -1, &chunk->pages, err) < 0) {
        return -1;
    }
    chunk->entries += (int64_t)chunk->defined.count;
    review_dictionary(chunk);
    chunk->has_table = chunk->has_table || is_empty;
    chunk->defined.count = chunk->repeated.count = chunk->indices.count = 0;
    buffer_clear(&chunk->values);
    return 0;
}

static int end_row(struct chunk_writer *chunk, struct error *err) {
    bool is_full = chunk->defined.count >= PAGE_LEVELS || chunk->values.size >= CHUNK_PAGE_BYTES;
    return is_full ? end_page(chunk, err) : 0;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Adds the PLAIN bytes of a value to the dictionary, or to the page where the dictionary is full.
 */
static int add_value(struct chunk_writer *chunk, const void *plain, size_t size,
                     struct error *err) {
    int64_t index = chunk->has_table ? value_table_find(&chunk->table, plain, size) : -1;
    if (index >= 0) {
        add_level(&chunk->indices, (uint32_t)index);
        return 0;
    }
    if (chunk->has_table) { /* the values before it make a page of their own */
        if (end_page(chunk, err) < 0) {
            return -1;
        }
        chunk->has_table = false;
    }
    return buffer_append(&chunk->values, plain, size, err);
}

static int add_scalar(struct chunk_writer *chunk, const void *plain, size_t size,
                      struct error *err) {
    if (add_value(chunk, plain, size, err) < 0) {
        return -1;
    }
    add_level(&chunk->defined, 1);
    return end_row(chunk, err);
}

int chunk_writer_null(struct chunk_writer *chunk, struct error *err) {
    add_level(&chunk->defined, NOTHING);
    if (chunk->is_list) {
        add_level(&chunk->repeated, 0);
    }
    chunk->nulls++;
    return end_row(chunk, err);
}

int chunk_writer_boolean(struct chunk_writer *chunk, bool value, struct error *err) {
    uint8_t byte = value;
    value_range_see(&chunk->range, chunk->type, &byte, 1);
    return add_scalar(chunk, &byte, 1, err);
}

int chunk_writer_integer(struct chunk_writer *chunk, int64_t value, struct error *err) {
    value_range_see(&chunk->range, chunk->type, &value, sizeof value);
    return add_scalar(chunk, &value, sizeof value, err);
}

int chunk_writer_number(struct chunk_writer *chunk, double value, struct error *err) {
    value_range_see(&chunk->range, chunk->type, &value, sizeof value);
    return add_scalar(chunk, &value, sizeof value, err);
}

int chunk_writer_text(struct chunk_writer *chunk, const char *text, size_t size,
                      struct error *err) {
    AUTO(buffer_release) struct buffer plain;
    uint32_t length = (uint32_t)size;
    buffer_init(&plain, PAGE_BYTES_MAX / 2);
    value_range_see(&chunk->range, chunk->type, text, size);
    return buffer_append(&plain, &length, sizeof length, err) < 0 ||
                   buffer_append(&plain, text, size, err) < 0
               ? -1
               : add_scalar(chunk, plain.data, plain.size, err);
}

/* Writes one element as PLAIN; returns its size. */
static size_t put_element(const struct chunk_writer *chunk, const struct parquet_list *list,
                          size_t at, char *to) {
    if (chunk->type == PARQUET_FLOAT) {
        float rounded = (float)((const double *)list->values)[at];
        memcpy(to, &rounded, sizeof rounded);
        return sizeof rounded;
    }
    memcpy(to, (const char *)list->values + at * sizeof(double), sizeof(double));
    return sizeof(double);
}

static bool is_less(const struct chunk_writer *chunk, const struct parquet_list *list, size_t a,
                    size_t b) {
    return chunk->type == PARQUET_INT64
               ? ((const int64_t *)list->values)[a] < ((const int64_t *)list->values)[b]
               : ((const double *)list->values)[a] < ((const double *)list->values)[b];
}

static void note_element(struct chunk_writer *chunk, const struct parquet_list *list, size_t at) {
    char value[sizeof(double)];
    size_t size = put_element(chunk, list, at, value);
    value_range_see(&chunk->range, chunk->type, value, size);
}

/* Adds the elements that are not null. */
static int add_elements(struct chunk_writer *chunk, const struct parquet_list *list,
                        struct error *err) {
    size_t before = chunk->values.size, size = 0, low = SIZE_MAX, high = SIZE_MAX;
    char *to = NULL;
    if (list->count > PAGE_BYTES_MAX / sizeof(double)) {
        return error_set(err, ERROR_EXHAUSTED, "a list of %zu numbers is too long", list->count);
    }
    if (list->count && buffer_extend(&chunk->values, list->count * sizeof(double), &to, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->is_null && list->is_null[i]) {
            continue;
        }
        size += put_element(chunk, list, i, to + size);
        low = low == SIZE_MAX || is_less(chunk, list, i, low) ? i : low;
        high = high == SIZE_MAX || is_less(chunk, list, high, i) ? i : high;
    }
    chunk->values.size = before + size;
    if (low != SIZE_MAX) {
        note_element(chunk, list, low);
        note_element(chunk, list, high);
    }
    return 0;
}

int chunk_writer_list(struct chunk_writer *chunk, const struct parquet_list *list,
                      struct error *err) {
    if (list->count == 0) {
        add_level(&chunk->defined, EMPTY);
        add_level(&chunk->repeated, 0);
        chunk->nulls++;
    }
    for (size_t i = 0; i < list->count; i++) {
        bool is_null = list->is_null && list->is_null[i];
        add_level(&chunk->defined, is_null ? NULL_ELEMENT : ELEMENT);
        add_level(&chunk->repeated, i > 0);
        chunk->nulls += is_null;
    }
    return add_elements(chunk, list, err) < 0 ? -1 : end_row(chunk, err);
}

/* ---- a row group ---------------------------------------------------------------------------- */

static int put_dictionary(struct chunk_writer *chunk, struct buffer *out, struct error *err) {
    buffer_clear(&chunk->page);
    return buffer_append(&chunk->page, chunk->table.bytes.data, chunk->table.bytes.size, err) < 0
               ? -1
               : put_page(chunk, (int64_t)chunk->table.count, out, err);
}

int chunk_writer_end(struct chunk_writer *chunk, int64_t at, parquet_take *take, void *context,
                     struct chunk_summary *ret_summary, struct error *err) {
    AUTO(buffer_release) struct buffer dictionary;
    buffer_init(&dictionary, 2 * (size_t)VALUE_TABLE_BYTES);
    if (end_page(chunk, err) < 0 ||
        (chunk->has_table_pages && put_dictionary(chunk, &dictionary, err) < 0) ||
        (dictionary.size && take(context, dictionary.data, dictionary.size, err) < 0) ||
        (chunk->pages.size && take(context, chunk->pages.data, chunk->pages.size, err) < 0)) {
        return -1;
    }
    *ret_summary = (struct chunk_summary){
        .values = chunk->entries,
        .nulls = chunk->nulls,
        .plain_bytes = chunk->plain_bytes,
        .stored_bytes = (int64_t)(dictionary.size + chunk->pages.size),
        .dictionary_at = chunk->has_table_pages ? at : -1,
        .data_at = at + (int64_t)dictionary.size,
        .has_plain = chunk->has_plain,
        .has_range = value_range_end(&chunk->range, chunk->type),
        .range = chunk->range,
    };
    begin(chunk);
    return 0;
}
