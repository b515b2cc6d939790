/* parquet_pages.h: the pages of a column chunk, one after the other: heads (PageHeader of
 * parquet.thrift) and bodies as they are stored. One thread. */
#pragma once

#include "agent/data/parquet/parquet_file.h"

enum {
    PARQUET_PAGES_HEAD_MAX = 1 << 20, /* bytes of a head, which may have statistics */
    PARQUET_PAGES_BODY_MAX = 256 << 20,
    PARQUET_PAGES_READ = 1 << 20, /* bytes that are read at a time, at least */
};

struct parquet_page_head {
    int type;             /* enum parquet_page_type, or an unknown one */
    int32_t packed_bytes; /* of the body, as stored */
    int32_t unpacked_bytes;
    bool has_crc, is_packed; /* is_packed: of a v2 page: its values are */
    uint32_t crc;
    int32_t values;         /* with nulls */
    int32_t rows;           /* -1: not known */
    int encoding;           /* enum parquet_encoding, or an unknown one */
    int level_encoding[2];  /* of repetition and definition, of v1 */
    int32_t level_bytes[2]; /* of repetition and definition, of v2 */
};

struct parquet_pages {
    const struct parquet_source *source; /* borrowed */
    int64_t at, end;                     /* in the file: what comes next */
    uint8_t *data;                       /* owned */
    int64_t first;                       /* in the file: of the data */
    size_t size, room, read_bytes;
};

/* read_bytes: PARQUET_PAGES_READ or less, where many streams are open. */
void parquet_pages_open(struct parquet_pages *stream, const struct parquet_source *source,
                        const struct parquet_chunk *chunk, size_t read_bytes);
void parquet_pages_release(struct parquet_pages *stream);
/* 1; 0: there are no more pages; -1, INVALID: damaged; other errors are the source's. */
NODISCARD int parquet_pages_head(struct parquet_pages *stream, struct parquet_page_head *ret_head,
                                 struct error *err);
/* The body of the page whose head was read last, with its CRC checked; borrowed until the next
 * call. */
NODISCARD int parquet_pages_body(struct parquet_pages *stream, const struct parquet_page_head *head,
                                 const uint8_t **ret_body, struct error *err);
/* ... or it is not read. */
void parquet_pages_skip(struct parquet_pages *stream, const struct parquet_page_head *head);
