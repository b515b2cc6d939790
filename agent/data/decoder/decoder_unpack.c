// SPDX-License-Identifier: Apache-2.0
/* Pages of Parquet, and .gz files, unpacked by the decoding process. */
#include "agent/data/decoder/decoder_call.h"
#include "agent/data/image/image.h"

#include <string.h>

#define GUNZIP_BYTES_MAX ((int64_t)1 << 60) /* the sink wants fewer */

/* A page, and where it goes. */
struct unpacking {
    const struct decoder_page *page;
    uint8_t *out;
};

static int unpack_once(struct decoder *decoder, void *context, struct error *err) {
    const struct unpacking *unpacking = context;
    const struct decoder_page *page = unpacking->page;
    size_t size = page->in.size;
    struct decoder_message message = {
        .kind = DECODER_UNPACK, .values = {(int64_t)size, page->codec, (int64_t)page->size_out}};
    if (size > IMAGE_BYTES_MAX || page->size_out > DECODER_PICTURE_BYTES) {
        return error_set(err, ERROR_INVALID, "damaged: a page of %zu bytes, %zu unpacked", size,
                         page->size_out);
    }
    if (decoder_begin(decoder, err) < 0) {
        return -1;
    }
    memcpy(decoder->process.window + DECODER_FILE_AT, page->in.data, size);
    int result = decoder_call(decoder, (struct decoder_service){0}, &message, err);
    if (result == 0) {
        memcpy(unpacking->out, decoder->process.window + DECODER_PICTURE_AT, page->size_out);
    }
    if (size > DECODER_KEPT_BYTES) {
        decoder_process_forget(&decoder->process, DECODER_FILE_AT, size);
    }
    if (page->size_out > DECODER_KEPT_BYTES) {
        decoder_process_forget(&decoder->process, DECODER_PICTURE_AT, page->size_out);
    }
    return result;
}

/* The machine's fault is not the file's, nor for want of room in a row (EXHAUSTED). */
static int try_twice(struct decoder *decoder, decoder_try *once, void *context, struct error *err) {
    struct error cause = {0};
    int result = decoder_twice(decoder, once, context, &cause);
    if (result < 0) {
        cause.kind = decoder->is_interrupted ? ERROR_UNAVAILABLE : cause.kind;
        *err = cause;
    }
    return result;
}

int decoder_unpack(struct decoder *decoder, const struct decoder_page *page, uint8_t *out,
                   struct error *err) {
    struct unpacking unpacking = {page, out};
    return try_twice(decoder, unpack_once, &unpacking, err);
}

/* A .gz file in memory, and where it goes. */
struct gunzip {
    const char *data;
    size_t size;
    const struct gzip_sink *sink;
    int64_t done;
    struct error refused; /* by the sink */
};

static int64_t read_packed(void *context, int64_t source UNUSED, int64_t offset, void *data,
                           size_t size) {
    const struct gunzip *gunzip = context;
    size_t at = (size_t)MIN(offset, (int64_t)gunzip->size);
    size = MIN(size, gunzip->size - at);
    memcpy(data, gunzip->data + at, size);
    return (int64_t)size;
}

static int take_unpacked(void *context, int64_t offset, const void *data, size_t size) {
    struct gunzip *gunzip = context;
    if (offset != gunzip->done) {
        return error_set(&gunzip->refused, ERROR_INVALID,
                         "invalid message from the decoder: a part out of turn");
    }
    gunzip->done += (int64_t)size;
    return gunzip->sink->take(gunzip->sink->context, data, size, &gunzip->refused);
}

static int gunzip_once(struct decoder *decoder, void *context, struct error *err) {
    struct gunzip *gunzip = context;
    struct decoder_files files = {.context = gunzip,
                                  .source_bytes = (int64_t)gunzip->size,
                                  .total_bytes = (int64_t)gunzip->size,
                                  .write_max = GUNZIP_BYTES_MAX,
                                  .read = read_packed,
                                  .write = take_unpacked};
    struct decoder_message message = {.kind = DECODER_GUNZIP, .values = {0, (int64_t)gunzip->size}};
    return decoder_begin(decoder, err) < 0
               ? -1
               : decoder_call(decoder, (struct decoder_service){.files = &files}, &message, err);
}

int decoder_gunzip(const void *data, size_t size, const struct gzip_sink *sink, struct error *err) {
    struct gunzip gunzip = {.data = data, .size = size, .sink = sink};
    if (!decoder_is_separate()) {
        return gzip_pass(data, size, sink, err);
    }
    struct decoder *decoder = decoder_new(DECODER_VIDEO_LIMITS);
    int result = try_twice(decoder, gunzip_once, &gunzip, err);
    decoder_free(decoder);
    if (result < 0 && gunzip.refused.kind) {
        *err = gunzip.refused;
    }
    return result;
}
