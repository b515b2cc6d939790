// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/parquet_pages.h"

#include "agent/data/parquet/parquet_unpack.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_TRY = 512 /* bytes, first */ };

void parquet_pages_open(struct parquet_pages *stream, const struct parquet_source *source,
                        const struct parquet_chunk *chunk, size_t read_bytes) {
    stream->source = source;
    stream->at = chunk->start;
    stream->end = chunk->start + chunk->size;
    stream->read_bytes = read_bytes;
    stream->size = 0;
    stream->first = chunk->start;
}

void parquet_pages_release(struct parquet_pages *stream) {
    free(stream->data);
    *stream = (struct parquet_pages){0};
}

/* Makes `size` bytes at stream->at readable, of which there must be as many. */
static int need(struct parquet_pages *stream, size_t size, const uint8_t **ret_data,
                struct error *err) {
    int64_t skipped = stream->at - stream->first;
    if (skipped <= (int64_t)stream->size && stream->size - (size_t)skipped >= size) {
        *ret_data = stream->data + skipped;
        return 0;
    }
    size_t kept = skipped < (int64_t)stream->size ? stream->size - (size_t)skipped : 0;
    size_t wanted = (size_t)MIN(stream->end - stream->at, (int64_t)MAX(size, stream->read_bytes));
    if (wanted > stream->room) {
        uint8_t *grown = x_malloc(wanted);
        memcpy(grown, stream->data ? stream->data + skipped : grown, kept);
        free(stream->data);
        stream->data = grown;
        stream->room = wanted;
    } else if (kept > 0) {
        memmove(stream->data, stream->data + skipped, kept);
    }
    stream->first = stream->at;
    stream->size = kept;
    if (stream->source->read(stream->source->context, stream->at + (int64_t)kept,
                             stream->data + kept, wanted - kept, err) < 0) {
        return -1;
    }
    stream->size = wanted;
    *ret_data = stream->data;
    return 0;
}

/* ---- heads ---------------------------------------------------------------------------------- */

/* DataPageHeader, or DictionaryPageHeader, whose fields are the first of it. */
static void read_data_head(struct thrift_reader *reader, const struct thrift_field *of,
                           struct parquet_page_head *head) {
    if (!thrift_reader_enter(reader, of)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        switch (field.id) {
        case 1:
            head->values = thrift_reader_i32(reader, &field);
            break;
        case 2:
            head->encoding = thrift_reader_i32(reader, &field);
            break;
        case 3:
        case 4:
            if (of->id == 5) {
                head->level_encoding[field.id == 3] = thrift_reader_i32(reader, &field);
                break;
            }
            thrift_reader_skip(reader, &field);
            break;
        default:
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
}

static void read_head_v2(struct thrift_reader *reader, const struct thrift_field *of,
                         struct parquet_page_head *head) {
    if (!thrift_reader_enter(reader, of)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        int32_t *const numbers[] = {[1] = &head->values,
                                    [3] = &head->rows,
                                    [4] = &head->encoding,
                                    [5] = &head->level_bytes[1],
                                    [6] = &head->level_bytes[0]};
        if (field.id == 7) {
            head->is_packed = thrift_reader_flag(reader, &field);
        } else if (!thrift_reader_numbers(reader, &field, numbers, ARRAY_LEN(numbers))) {
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
}

static void read_head(struct thrift_reader *reader, struct parquet_page_head *head) {
    *head = (struct parquet_page_head){
        .rows = -1, .type = -1, .is_packed = true, .level_encoding = {PARQUET_RLE, PARQUET_RLE}};
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        switch (field.id) {
        case 1:
            head->type = thrift_reader_i32(reader, &field);
            break;
        case 2:
            head->unpacked_bytes = thrift_reader_i32(reader, &field);
            break;
        case 3:
            head->packed_bytes = thrift_reader_i32(reader, &field);
            break;
        case 4:
            head->crc = (uint32_t)thrift_reader_i32(reader, &field);
            head->has_crc = true;
            break;
        case 5:
        case 7:
            read_data_head(reader, &field, head);
            break;
        case 8:
            read_head_v2(reader, &field, head);
            break;
        default:
            thrift_reader_skip(reader, &field);
        }
    }
}

/* NULL, or what is wrong. */
static const char *check_head(const struct parquet_pages *stream,
                              const struct parquet_page_head *head) {
    bool is_v2 = head->type == PARQUET_PAGE_DATA_V2;
    int64_t levels = (int64_t)head->level_bytes[0] + head->level_bytes[1];
    if (head->packed_bytes < 0 || head->packed_bytes > stream->end - stream->at) {
        return "a page that is longer than its column";
    }
    if (head->unpacked_bytes < 0 || head->unpacked_bytes > PARQUET_PAGES_BODY_MAX ||
        head->packed_bytes > PARQUET_PAGES_BODY_MAX) {
        return "a page of more than 256 MiB";
    }
    if (head->values < 0 || (is_v2 && (head->rows < 0 || head->rows > head->values)) ||
        head->level_bytes[0] < 0 || head->level_bytes[1] < 0 || levels > head->packed_bytes ||
        levels > head->unpacked_bytes) {
        return "a page header with invalid numbers";
    }
    return NULL;
}

int parquet_pages_head(struct parquet_pages *stream, struct parquet_page_head *ret_head,
                       struct error *err) {
    int64_t left = stream->end - stream->at;
    if (left <= 0) {
        return 0;
    }
    for (size_t some = HEAD_TRY;; some *= 8) {
        const uint8_t *data;
        size_t size = (size_t)MIN(left, (int64_t)some);
        if (need(stream, size, &data, err) < 0) {
            return -1;
        }
        struct thrift_reader reader = thrift_reader_over(data, size);
        read_head(&reader, ret_head);
        if (!reader.fault) {
            stream->at += reader.at - reader.begin;
            const char *what = check_head(stream, ret_head);
            return what ? error_set(err, ERROR_INVALID, "damaged: %s", what) : 1;
        }
        if (size == (size_t)left || size >= PARQUET_PAGES_HEAD_MAX) {
            return error_set(err, ERROR_INVALID, "damaged page header: %s", reader.fault);
        }
    }
}

/* ---- bodies --------------------------------------------------------------------------------- */

int parquet_pages_body(struct parquet_pages *stream, const struct parquet_page_head *head,
                       const uint8_t **ret_body, struct error *err) {
    size_t size = (size_t)head->packed_bytes;
    if (need(stream, size, ret_body, err) < 0) {
        return -1;
    }
    stream->at += head->packed_bytes;
    if (head->has_crc && parquet_unpack_crc(*ret_body, size) != head->crc) {
        return error_set(err, ERROR_INVALID, "damaged: a page does not have the CRC of its header");
    }
    return 0;
}

void parquet_pages_skip(struct parquet_pages *stream, const struct parquet_page_head *head) {
    stream->at += head->packed_bytes;
}
