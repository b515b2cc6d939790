/* made_parquet.h: a Parquet file of one column "x" of 32-bit numbers 0, 1, 2, ... in memory, whose
 * footer describes each row group as a test wants. */
#pragma once

#include "agent/data/parquet/parquet_format.h"
#include "agent/data/parquet/thrift_writer.h"
#include "tests/unit/agent/data/parquet/parquet_bytes.h"

enum { MADE_PAGES = 3, MADE_GROUPS = 8, MADE_BYTES_MAX = 1 << 20 };

struct made_group {
    int32_t pages[MADE_PAGES]; /* rows of each; 0: no more */
    int32_t page_says;         /* rows by the head of the first page; 0: as many as there are */
    size_t gap;                /* bytes of something else in front of it */
    /* By the footer; 0: as it is. */
    int64_t rows, values, unpacked, start, size;
};

static inline void made_page(struct buffer *file, int32_t first, int32_t rows, int32_t says) {
    struct thrift_writer head = {.buffer = file};
    struct error never = {0};
    thrift_writer_i32(&head, 1, PARQUET_PAGE_DATA);
    thrift_writer_i32(&head, 2, 4 * rows);
    thrift_writer_i32(&head, 3, 4 * rows);
    thrift_writer_begin(&head, 5);
    thrift_writer_i32(&head, 1, says ? says : rows);
    thrift_writer_i32(&head, 2, PARQUET_PLAIN);
    thrift_writer_i32(&head, 3, PARQUET_RLE);
    thrift_writer_i32(&head, 4, PARQUET_RLE);
    thrift_writer_end(&head);
    thrift_writer_stop(&head);
    for (int32_t i = first; i < first + rows; i++) {
        (void)!buffer_append(file, &i, sizeof i, &never);
    }
}

/* The pages; fills in what the footer says. Returns the number of the row behind. */
static inline int32_t made_pages(struct buffer *file, int32_t row, struct made_group *group) {
    struct error never = {0};
    for (size_t i = 0; i < group->gap; i++) {
        (void)!buffer_append(file, "\xff", 1, &never);
    }
    int64_t start = (int64_t)file->size;
    int32_t rows = 0;
    for (int i = 0; i < MADE_PAGES && group->pages[i]; i++) {
        made_page(file, row + rows, group->pages[i], i == 0 ? group->page_says : 0);
        rows += group->pages[i];
    }
    group->rows = group->rows ? group->rows : rows;
    group->values = group->values ? group->values : group->rows;
    group->start = group->start ? group->start : start;
    group->size = group->size ? group->size : (int64_t)file->size - start;
    group->unpacked = group->unpacked ? group->unpacked : group->size;
    return row + rows;
}

static inline void made_schema(struct thrift_writer *footer) {
    thrift_writer_list(footer, 2, THRIFT_STRUCT, 2);
    thrift_writer_begin(footer, 0);
    thrift_writer_text(footer, 4, "schema", 6);
    thrift_writer_i32(footer, 5, 1);
    thrift_writer_end(footer);
    thrift_writer_begin(footer, 0);
    thrift_writer_i32(footer, 1, PARQUET_INT32);
    thrift_writer_i32(footer, 3, PARQUET_REQUIRED);
    thrift_writer_text(footer, 4, "x", 1);
    thrift_writer_end(footer);
}

static inline void made_footer_group(struct thrift_writer *footer, const struct made_group *group) {
    thrift_writer_begin(footer, 0);
    thrift_writer_list(footer, 1, THRIFT_STRUCT, 1);
    thrift_writer_begin(footer, 0);
    thrift_writer_begin(footer, 3);
    thrift_writer_i32(footer, 1, PARQUET_INT32);
    thrift_writer_i32(footer, 4, PARQUET_UNCOMPRESSED);
    thrift_writer_i64(footer, 5, group->values);
    thrift_writer_i64(footer, 6, group->unpacked);
    thrift_writer_i64(footer, 7, group->size);
    thrift_writer_i64(footer, 9, group->start);
    thrift_writer_end(footer);
    thrift_writer_end(footer);
    thrift_writer_i64(footer, 3, group->rows);
    thrift_writer_end(footer);
}

/* groups: changed. The caller frees the bytes. */
static inline struct parquet_bytes made_parquet(struct made_group *groups, size_t count) {
    struct buffer file;
    struct error never = {0};
    struct thrift_writer footer = {.buffer = &file};
    int64_t rows = 0;
    int32_t row = 0;
    buffer_init(&file, MADE_BYTES_MAX);
    (void)!buffer_append(&file, PARQUET_MAGIC, 4, &never);
    for (size_t i = 0; i < count; i++) {
        row = made_pages(&file, row, &groups[i]);
        rows += groups[i].rows;
    }
    size_t start = file.size;
    thrift_writer_i32(&footer, 1, 1);
    made_schema(&footer);
    thrift_writer_i64(&footer, 3, rows);
    thrift_writer_list(&footer, 4, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        made_footer_group(&footer, &groups[i]);
    }
    thrift_writer_stop(&footer);
    uint32_t size = (uint32_t)(file.size - start);
    (void)!(buffer_append(&file, &size, 4, &never) < 0 ||
            buffer_append(&file, PARQUET_MAGIC, 4, &never) < 0);
    struct parquet_bytes bytes = {.size = file.size};
    bytes.data = buffer_take(&file, NULL);
    return bytes;
}
