// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/column_reader.h"

#include "agent/data/parquet/parquet_unpack.h"

#include <stdlib.h>
#include <string.h>

enum {
    PREFIX_WINDOW = 256,          /* values of DELTA_BYTE_ARRAY, which may unpack to much */
    RETIRED_BYTES = 16 << 20,     /* of pages that a window of lists keeps before it ends */
    RETIRED_BYTES_MAX = 512 << 20 /* ... for one row */
};

/* A page whose body is unpacked. */
struct page {
    uint8_t *data; /* owned, with BIT_RUNS_PAD bytes behind it */
    size_t left;   /* entries that are not taken */
    struct bit_runs definition, repetition;
    struct parquet_values values;
    bool is_borrowed; /* a window has values in it */
    size_t size;
};

struct column_reader {
    const struct parquet_source *source;
    const struct parquet_leaf *column;
    size_t read_bytes;
    struct column_memory *memory;
    size_t counted;          /* of memory->used: this one's share */
    size_t dictionary_bytes; /* page and values */
    struct parquet_pages stream;
    int codec;
    int64_t rows;                  /* of the group that no window has had */
    struct parquet_page_head head; /* of the next page, if has_head */
    bool has_head;
    struct page page;
    struct parquet_dictionary dictionary;
    struct buffer heap, last;
    /* what a window of lists borrows, besides the page */
    void **retired;
    size_t retired_count, retired_bytes;
    /* levels of repetition that are taken from the page, for the next rows */
    uint8_t ahead[COLUMN_READER_WINDOW];
    size_t ahead_at, ahead_count;
    /* the window */
    uint8_t *definition, *repetition;
    void *values;
    size_t room; /* entries */
    bool has_nulls;
    struct column_window window;
};

struct column_reader *column_reader_new(const struct parquet_source *source,
                                        const struct parquet_leaf *column, size_t read_bytes,
                                        struct column_memory *memory) {
    struct column_reader *reader = x_calloc(1, sizeof *reader);
    reader->source = source;
    reader->column = column;
    reader->read_bytes = read_bytes;
    reader->memory = memory;
    buffer_init(&reader->heap, PARQUET_VALUES_HEAP_MAX);
    buffer_init(&reader->last, PARQUET_VALUES_HEAP_MAX);
    return reader;
}

static void drop_retired(struct column_reader *reader) {
    for (size_t i = 0; i < reader->retired_count; i++) {
        free(reader->retired[i]);
    }
    reader->retired_count = 0;
    reader->retired_bytes = 0;
}

/* Keeps memory that the window borrows until the next window. */
static void retire(struct column_reader *reader, void *data, size_t size) {
    if (reader->retired_count % 16 == 0) {
        reader->retired =
            x_realloc_array(reader->retired, reader->retired_count + 16, sizeof *reader->retired);
    }
    reader->retired[reader->retired_count++] = data;
    reader->retired_bytes += size;
}

/* Counts what it has, and more that is about to be allocated. A file has as many columns as it
 * likes, each with pages that unpack to a thousand times their size. */
static int count_memory(struct column_reader *reader, size_t more, struct error *err) {
    size_t has = (reader->page.data ? reader->page.size : 0) + reader->dictionary_bytes +
                 reader->retired_bytes + reader->heap.capacity + more;
    reader->memory->used = reader->memory->used - reader->counted + has;
    reader->counted = has;
    return more > 0 && reader->memory->used > COLUMN_READER_MEMORY
               ? error_set(err, ERROR_INVALID,
                           "needs too much memory: the pages and dictionaries of all columns take "
                           "more than %zu MiB together",
                           COLUMN_READER_MEMORY >> 20)
               : 0;
}

void column_reader_free(struct column_reader *reader) {
    if (reader) {
        reader->memory->used -= reader->counted;
        drop_retired(reader);
        free(reader->retired);
        parquet_pages_release(&reader->stream);
        parquet_dictionary_release(&reader->dictionary);
        buffer_release(&reader->heap);
        buffer_release(&reader->last);
        free(reader->page.data);
        free(reader->definition);
        free(reader->repetition);
        free(reader->values);
        free(reader);
    }
}

void column_reader_start(struct column_reader *reader, const struct parquet_chunk *chunk,
                         int64_t rows) {
    parquet_pages_open(&reader->stream, reader->source, chunk, reader->read_bytes);
    struct error never = {0};
    parquet_dictionary_release(&reader->dictionary);
    reader->dictionary_bytes = 0;
    (void)!count_memory(reader, 0, &never);
    reader->codec = chunk->codec;
    reader->rows = rows;
    reader->has_head = false;
    reader->page.left = 0;
    reader->ahead_at = reader->ahead_count = 0;
}

static int refuse_damaged(struct error *err, const char *what) {
    return error_set(err, ERROR_INVALID, "damaged: %s", what);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static uint8_t *new_body(size_t size) {
    uint8_t *data = x_malloc(size + BIT_RUNS_PAD);
    memset(data + size, 0, BIT_RUNS_PAD);
    return data;
}

/* The body of a page: levels of v2 as they are, the rest unpacked. */
static int read_body(struct column_reader *reader, uint8_t **ret_data, struct error *err) {
    const struct parquet_page_head *head = &reader->head;
    bool is_v2 = head->type == PARQUET_PAGE_DATA_V2;
    size_t levels = is_v2 ? (size_t)(head->level_bytes[0] + head->level_bytes[1]) : 0;
    size_t size = (size_t)head->unpacked_bytes;
    const uint8_t *body;
    if (count_memory(reader, size, err) < 0 ||
        parquet_pages_body(&reader->stream, head, &body, err) < 0) {
        return -1;
    }
    struct parquet_unpack_bytes in = {body + levels, (size_t)head->packed_bytes - levels};
    uint8_t *data = new_body(size);
    memcpy(data, body, levels);
    int codec = is_v2 && !head->is_packed ? PARQUET_UNCOMPRESSED : reader->codec;
    bool is_empty = in.size == 0 && size == levels; /* of some v2 pages without a value */
    if (!is_empty && parquet_unpack(codec, in, data + levels, size - levels, err) < 0) {
        free(data);
        return -1;
    }
    *ret_data = data;
    return 0;
}

/* Bits that a plain value takes at least. */
static size_t plain_bits(const struct parquet_leaf *column) {
    switch (column->type) {
    case PARQUET_BOOLEAN:
        return 1;
    case PARQUET_INT64:
    case PARQUET_DOUBLE:
        return 64;
    case PARQUET_INT96:
    case PARQUET_FIXED_LEN_BYTE_ARRAY:
        return 8 * (size_t)MAX(column->width, 1);
    default: /* of 4 bytes, or with a length of 4 */
        return 32;
    }
}

static int read_dictionary(struct column_reader *reader, struct error *err) {
    struct parquet_dictionary *dictionary = &reader->dictionary;
    size_t count = (size_t)reader->head.values;
    struct parquet_values values;
    struct parquet_values_options options = {.column = reader->column, .encoding = PARQUET_PLAIN};
    if (reader->head.encoding != PARQUET_PLAIN &&
        reader->head.encoding != PARQUET_PLAIN_DICTIONARY) {
        return error_set(err, ERROR_INVALID, "has a dictionary in the unknown encoding %d",
                         reader->head.encoding);
    }
    if (dictionary->values) {
        return refuse_damaged(err, "a second dictionary");
    }
    if (count > (size_t)reader->head.unpacked_bytes * 8 / plain_bits(reader->column)) {
        return refuse_damaged(err, "a dictionary that is longer than its page");
    }
    size_t values_bytes = (count + 1) * parquet_values_size(reader->column->type);
    if (read_body(reader, &dictionary->page, err) < 0) {
        return -1;
    }
    reader->dictionary_bytes = (size_t)reader->head.unpacked_bytes;
    if (count_memory(reader, values_bytes, err) < 0) {
        return -1;
    }
    reader->dictionary_bytes += values_bytes;
    dictionary->values = x_malloc(values_bytes);
    dictionary->count = count;
    return parquet_values_open(&options, dictionary->page, (size_t)reader->head.unpacked_bytes,
                               &values, err) < 0
               ? -1
               : parquet_values_take(&values, count, dictionary->values, &reader->heap, err);
}

/* Finds the next data page, whose head is in reader->head. 1; 0: there are no more. */
static int find_page(struct column_reader *reader, struct error *err) {
    while (!reader->has_head) {
        int got = parquet_pages_head(&reader->stream, &reader->head, err);
        if (got <= 0) {
            return got;
        }
        int type = reader->head.type;
        if (type == PARQUET_PAGE_DICTIONARY) {
            if (read_dictionary(reader, err) < 0) {
                return -1;
            }
        } else if ((type == PARQUET_PAGE_DATA || type == PARQUET_PAGE_DATA_V2) &&
                   reader->head.values > 0) {
            reader->has_head = true;
        } else {
            parquet_pages_skip(&reader->stream, &reader->head);
        }
    }
    return 1;
}

/* Bits of a level. */
static int level_width(int most) {
    return most == 0 ? 0 : 32 - __builtin_clz((unsigned)most);
}

/* The levels of a v1 page: their size, then they. *at goes behind them. */
static int open_levels(int encoding, int width, const uint8_t **at, const uint8_t *end,
                       struct bit_runs *ret_runs, struct error *err) {
    uint32_t size = 0;
    if (width == 0) {
        *ret_runs = bit_runs_over(*at, 0, 0);
        return 0;
    }
    if (encoding != PARQUET_RLE) {
        return error_set(err, ERROR_INVALID,
                         "has levels in encoding %d; that encoding is not supported", encoding);
    }
    if (end - *at < 4) {
        return refuse_damaged(err, "a page that ends in its levels");
    }
    memcpy(&size, *at, 4);
    *at += 4;
    if (size > (size_t)(end - *at)) {
        return refuse_damaged(err, "levels that are longer than their page");
    }
    *ret_runs = bit_runs_over(*at, size, width);
    *at += size;
    return 0;
}

/* Opens the page of reader->head. */
static int open_page(struct column_reader *reader, struct error *err) {
    const struct parquet_page_head *head = &reader->head;
    struct page *page = &reader->page;
    int widths[2] = {reader->column->list_definition > 0,
                     level_width(reader->column->definition_max)};
    struct parquet_values_options options = {.column = reader->column,
                                             .dictionary = &reader->dictionary,
                                             .encoding = head->encoding,
                                             .last = &reader->last};
    if (page->is_borrowed && page->data) {
        retire(reader, page->data, page->size);
    } else {
        free(page->data);
    }
    page->data = NULL;
    page->is_borrowed = false;
    reader->has_head = false;
    if (read_body(reader, &page->data, err) < 0) {
        return -1;
    }
    page->size = (size_t)head->unpacked_bytes;
    const uint8_t *at = page->data, *end = at + page->size;
    if (head->type == PARQUET_PAGE_DATA_V2) {
        page->repetition = bit_runs_over(at, (size_t)head->level_bytes[0], widths[0]);
        at += head->level_bytes[0];
        page->definition = bit_runs_over(at, (size_t)head->level_bytes[1], widths[1]);
        at += head->level_bytes[1];
    } else if (open_levels(head->level_encoding[0], widths[0], &at, end, &page->repetition, err) <
                   0 ||
               open_levels(head->level_encoding[1], widths[1], &at, end, &page->definition, err) <
                   0) {
        return -1;
    }
    page->left = (size_t)head->values;
    return parquet_values_open(&options, at, (size_t)(end - at), &page->values, err);
}

/* ---- windows -------------------------------------------------------------------------------- */

static void make_room(struct column_reader *reader, size_t entries) {
    if (entries > reader->room) {
        size_t room = MAX(entries, 2 * reader->room);
        room = MAX(room, (size_t)COLUMN_READER_WINDOW);
        reader->definition = x_realloc(reader->definition, room);
        reader->repetition = x_realloc(reader->repetition, room);
        reader->values =
            x_realloc_array(reader->values, room, parquet_values_size(reader->column->type));
        reader->room = room;
    }
}

/* Levels as bytes. False: damaged. */
static bool take_levels(struct bit_runs *runs, size_t count, int most, uint8_t *levels) {
    while (count > 0) {
        uint32_t numbers[256];
        size_t some = MIN(count, ARRAY_LEN(numbers));
        uint32_t highest = 0;
        if (!bit_runs_take(runs, some, numbers)) {
            return false;
        }
        for (size_t i = 0; i < some; i++) {
            highest = MAX(highest, numbers[i]);
            levels[i] = (uint8_t)numbers[i];
        }
        if (highest > (uint32_t)most) {
            return false;
        }
        levels += some;
        count -= some;
    }
    return true;
}

/* Takes the definition levels of the next `count` entries; *ret_present: values that are there. */
static bool take_definition(struct column_reader *reader, size_t count, size_t *ret_present) {
    int most = reader->column->definition_max;
    uint8_t *levels = reader->definition + reader->window.entries;
    uint32_t same = (uint32_t)most;
    size_t present = 0;
    if (most == 0 || bit_runs_take_same(&reader->page.definition, count, &same)) {
        if (same > (uint32_t)most) {
            return false;
        }
        memset(levels, (int)same, count);
        *ret_present = same == (uint32_t)most ? count : 0;
    } else {
        if (!take_levels(&reader->page.definition, count, most, levels)) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            present += levels[i] == most;
        }
        *ret_present = present;
    }
    reader->has_nulls = reader->has_nulls || *ret_present < count;
    return true;
}

/* Adds the page's next `count` entries to the window. */
static int add_entries(struct column_reader *reader, size_t count, struct error *err) {
    struct column_window *window = &reader->window;
    struct page *page = &reader->page;
    size_t size = parquet_values_size(reader->column->type), present = 0;
    make_room(reader, window->entries + count);
    if (!take_definition(reader, count, &present)) {
        return refuse_damaged(err, "levels of a page");
    }
    char *values = (char *)reader->values + window->present * size;
    if (parquet_values_take(&page->values, present, values, &reader->heap, err) < 0) {
        return -1;
    }
    page->is_borrowed = size == sizeof(struct parquet_value_bytes);
    page->left -= count;
    window->entries += count;
    window->present += present;
    return 0;
}

static int take_flat(struct column_reader *reader, struct error *err) {
    bool has_prefixes = reader->page.values.encoding == PARQUET_DELTA_BYTE_ARRAY;
    size_t most = has_prefixes ? PREFIX_WINDOW : COLUMN_READER_WINDOW;
    size_t count = MIN(reader->page.left, most);
    reader->window.rows = count;
    return add_entries(reader, count, err);
}

/* How many of the levels ahead belong to this window; *ret_ends: it ends behind them. */
static size_t count_ahead(struct column_reader *reader, bool *ret_ends) {
    struct column_window *window = &reader->window;
    size_t at = reader->ahead_at;
    for (; at < reader->ahead_count; at++) {
        if (reader->ahead[at] == 0) {
            size_t entries = window->entries + at - reader->ahead_at;
            if (entries > 0 &&
                (entries >= COLUMN_READER_WINDOW / 2 || reader->retired_bytes >= RETIRED_BYTES)) {
                *ret_ends = true;
                break;
            }
            window->rows++;
        }
    }
    return at - reader->ahead_at;
}

/* Looks at more levels of the page, which has entries. */
static int peek_levels(struct column_reader *reader, struct error *err) {
    bool has_prefixes = reader->page.values.encoding == PARQUET_DELTA_BYTE_ARRAY;
    size_t most = has_prefixes ? PREFIX_WINDOW : COLUMN_READER_WINDOW;
    reader->ahead_at = 0;
    reader->ahead_count = MIN(reader->page.left, most);
    if (!take_levels(&reader->page.repetition, reader->ahead_count, 1, reader->ahead)) {
        reader->ahead_count = 0;
        return refuse_damaged(err, "levels of a page");
    }
    return 0;
}

/* Lists: a window ends with a row, which may go on in the next page. */
static int take_lists(struct column_reader *reader, struct error *err) {
    struct column_window *window = &reader->window;
    for (bool ends = false; !ends;) {
        if (reader->ahead_at == reader->ahead_count && reader->page.left == 0) {
            bool is_v2 = reader->head.type == PARQUET_PAGE_DATA_V2;
            if (is_v2 && window->rows > 0) { /* a page ends with a row, and may be skipped: windows
                                                do not depend on where reading began */
                return 0;
            }
            int got = find_page(reader, err);
            if (got <= 0) {
                return got;
            }
            if (open_page(reader, err) < 0) {
                return -1;
            }
        }
        if (reader->ahead_at == reader->ahead_count && peek_levels(reader, err) < 0) {
            return -1;
        }
        size_t count = count_ahead(reader, &ends);
        if (window->rows == 0) {
            return refuse_damaged(err, "a column that begins within a row");
        }
        if (window->entries + count > COLUMN_READER_ROW_VALUES ||
            reader->retired_bytes > RETIRED_BYTES_MAX) {
            return error_set(err, ERROR_INVALID, "has a list of more than %d values, or 512 MiB",
                             COLUMN_READER_ROW_VALUES);
        }
        make_room(reader, window->entries + count);
        memcpy(reader->repetition + window->entries, reader->ahead + reader->ahead_at, count);
        if (add_entries(reader, count, err) < 0) {
            return -1;
        }
        reader->ahead_at += count;
        if (reader->heap.size > 0) { /* which would move when it grows */
            size_t size = reader->heap.size;
            retire(reader, buffer_take(&reader->heap, NULL), size);
        }
    }
    return 0;
}

/* Takes the rows of the window from those of the group, behind whose last one nothing may come. */
static int count_rows(struct column_reader *reader, struct error *err) {
    reader->rows -= (int64_t)reader->window.rows;
    bool has_more = reader->rows < 0;
    if (reader->rows == 0) {
        int got = reader->page.left > 0 || reader->ahead_at < reader->ahead_count
                      ? 1
                      : find_page(reader, err);
        if (got < 0) {
            return -1;
        }
        has_more = got > 0;
    }
    return has_more ? refuse_damaged(err, "its pages have more rows than its row group") : 0;
}

int column_reader_next(struct column_reader *reader, const struct column_window **ret_window,
                       struct error *err) {
    bool is_list = reader->column->list_definition > 0;
    struct column_window *window = &reader->window;
    *window = (struct column_window){0};
    reader->has_nulls = false;
    drop_retired(reader);
    buffer_clear(&reader->heap);
    reader->page.is_borrowed = false;
    if (reader->page.left == 0 && reader->ahead_at == reader->ahead_count) {
        int got = find_page(reader, err);
        if (got <= 0) {
            return got < 0 ? -1
                           : refuse_damaged(err, "its pages have fewer rows than its row group");
        }
        if (open_page(reader, err) < 0) {
            return -1;
        }
    }
    if ((is_list ? take_lists(reader, err) : take_flat(reader, err)) < 0) {
        return -1;
    }
    if (count_rows(reader, err) < 0) {
        return -1;
    }
    window->definition = reader->has_nulls ? reader->definition : NULL;
    window->repetition = is_list ? reader->repetition : NULL;
    window->values = reader->values;
    *ret_window = window;
    return 0;
}

int column_reader_skip(struct column_reader *reader, int64_t rows, int64_t *ret_skipped,
                       struct error *err) {
    bool is_list = reader->column->list_definition > 0;
    int64_t skipped = 0;
    while (reader->page.left == 0 && reader->ahead_at == reader->ahead_count) {
        int got = find_page(reader, err);
        if (got <= 0) {
            return got < 0 ? -1
                           : refuse_damaged(err, "its pages have fewer rows than its row group");
        }
        int64_t of_page = is_list ? reader->head.rows : reader->head.values;
        if (of_page < 0 || of_page > rows - skipped || of_page > reader->rows) {
            break;
        }
        parquet_pages_skip(&reader->stream, &reader->head);
        reader->has_head = false;
        reader->rows -= of_page;
        skipped += of_page;
        if (skipped == rows) {
            break;
        }
    }
    *ret_skipped = skipped;
    return 0;
}
