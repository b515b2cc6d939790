// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/gzip.h"

#include <string.h>
#include <zlib.h>

enum { PIECE = 64 << 10, WINDOW_GZIP = 16 + MAX_WBITS };

bool gzip_is(const void *data, size_t size) {
    return size >= 2 && memcmp(data, "\x1F\x8B", 2) == 0;
}

static int refuse_damaged(const z_stream *stream, int state, struct error *err) {
    return error_set(err, ERROR_INVALID, "corrupt gzip: %s",
                     state == Z_BUF_ERROR ? "unexpected end"
                     : stream->msg        ? stream->msg
                                          : "its data is damaged");
}

/* Unpacks one member from *at on. */
static int unpack_member(z_stream *stream, const struct gzip_sink *sink, struct error *err) {
    char piece[PIECE];
    int state;
    do {
        stream->next_out = (Bytef *)piece;
        stream->avail_out = sizeof piece;
        state = inflate(stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END) {
            return refuse_damaged(stream, state, err);
        }
        size_t size = sizeof piece - stream->avail_out;
        if (size && sink->take(sink->context, piece, size, err) < 0) {
            return -1;
        }
    } while (state != Z_STREAM_END);
    return 0;
}

static int begin(z_stream *stream, const void *data, size_t size, struct error *err) {
    if (size > UINT32_MAX) {
        return error_set(err, ERROR_INVALID, "has more than 4 GiB");
    }
    *stream = (z_stream){.next_in = (Bytef *)(uintptr_t)data, /* never written to */
                         .avail_in = (uInt)size};
    return inflateInit2(stream, WINDOW_GZIP) == Z_OK
               ? 0
               : error_set(err, ERROR_BUG, "zlib: %s", stream->msg ? stream->msg : "cannot start");
}

int gzip_pass(const void *data, size_t size, const struct gzip_sink *sink, struct error *err) {
    z_stream stream;
    if (begin(&stream, data, size, err) < 0) {
        return -1;
    }
    int result;
    do {
        result = unpack_member(&stream, sink, err);
        if (result == 0 && stream.avail_in && inflateReset(&stream) != Z_OK) {
            result = error_set(err, ERROR_BUG, "zlib: cannot start again");
        }
    } while (result == 0 && stream.avail_in);
    inflateEnd(&stream);
    return result;
}

int gzip_append(void *context, const void *data, size_t size, struct error *err) {
    struct buffer *buffer = context;
    return size > buffer->max - buffer->size
               ? error_set(err, ERROR_INVALID, "has more than %zu bytes unpacked", buffer->max)
               : buffer_append(buffer, data, size, err);
}
