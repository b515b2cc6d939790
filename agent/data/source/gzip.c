// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/gzip.h"

#include <string.h>
#include <zlib.h>

enum { PIECE = 64 << 10, WINDOW_GZIP = 16 + MAX_WBITS };

bool gzip_is(const void *data, size_t size) {
    return size >= 2 && memcmp(data, "\x1F\x8B", 2) == 0;
}

/* Unpacks one member from *at on. */
static int unpack_member(z_stream *stream, struct buffer *buffer, struct error *err) {
    char piece[PIECE];
    int state;
    do {
        stream->next_out = (Bytef *)piece;
        stream->avail_out = sizeof piece;
        state = inflate(stream, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END) {
            return error_set(err, ERROR_INVALID, "corrupt gzip: %s",
                             state == Z_BUF_ERROR ? "unexpected end"
                             : stream->msg        ? stream->msg
                                                  : "its data is damaged");
        }
        size_t size = sizeof piece - stream->avail_out;
        if (size > buffer->max - buffer->size) {
            return error_set(err, ERROR_INVALID, "has more than %zu bytes unpacked", buffer->max);
        }
        if (size && buffer_append(buffer, piece, size, err) < 0) {
            return -1;
        }
    } while (state != Z_STREAM_END);
    return 0;
}

int gzip_unpack(const void *data, size_t size, struct buffer *buffer, struct error *err) {
    z_stream stream = {0};
    if (size > UINT32_MAX) {
        return error_set(err, ERROR_INVALID, "has more than 4 GiB");
    }
    stream.next_in = (Bytef *)(uintptr_t)data; /* never written to */
    stream.avail_in = (uInt)size;
    if (inflateInit2(&stream, WINDOW_GZIP) != Z_OK) {
        return error_set(err, ERROR_BUG, "zlib: %s", stream.msg ? stream.msg : "cannot start");
    }
    int result;
    do {
        result = unpack_member(&stream, buffer, err);
        if (result == 0 && stream.avail_in && inflateReset(&stream) != Z_OK) {
            result = error_set(err, ERROR_BUG, "zlib: cannot start again");
        }
    } while (result == 0 && stream.avail_in);
    inflateEnd(&stream);
    return result;
}
