// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/gzip.h"

#include <string.h>
#include <zlib.h>

enum {
    PIECE = 64 << 10,
    SLICE = 1 << 30, /* of a file in memory: zlib counts in 32 bits */
    WINDOW_GZIP = 16 + MAX_WBITS,
};

bool gzip_is(const void *data, size_t size) {
    return size >= 2 && memcmp(data, "\x1F\x8B", 2) == 0;
}

static int refuse_damaged(const z_stream *stream, int state, struct error *err) {
    return error_set(err, ERROR_INVALID, "corrupt gzip: %s",
                     state == Z_BUF_ERROR ? "unexpected end"
                     : stream->msg        ? stream->msg
                                          : "its data is damaged");
}

/* More bytes for a stream that has none left; after the last ones it stays without. */
static int feed(z_stream *stream, const struct gzip_source *source, struct error *err) {
    const void *data = NULL;
    if (stream->avail_in) {
        return 0;
    }
    int64_t size = source->next(source->context, &data, err);
    stream->next_in = (Bytef *)(uintptr_t)data; /* never written to */
    stream->avail_in = size > 0 ? (uInt)size : 0;
    return size < 0 ? -1 : 0;
}

static int unpack_member(z_stream *stream, const struct gzip_source *source,
                         const struct gzip_sink *sink, struct error *err) {
    char piece[PIECE];
    int state;
    do {
        if (feed(stream, source, err) < 0) {
            return -1;
        }
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
    return feed(stream, source, err); /* of the next member, if there is one */
}

int gzip_pass_on(const struct gzip_source *source, const struct gzip_sink *sink,
                 struct error *err) {
    z_stream stream = {.next_in = NULL};
    if (inflateInit2(&stream, WINDOW_GZIP) != Z_OK) {
        return error_set(err, ERROR_BUG, "zlib: %s", stream.msg ? stream.msg : "cannot start");
    }
    int result;
    do {
        result = unpack_member(&stream, source, sink, err);
        if (result == 0 && stream.avail_in && inflateReset(&stream) != Z_OK) {
            result = error_set(err, ERROR_BUG, "zlib: cannot start again");
        }
    } while (result == 0 && stream.avail_in);
    inflateEnd(&stream);
    return result;
}

struct memory {
    const char *data;
    size_t left;
};

static int64_t next_of_memory(void *context, const void **ret_data, struct error *err UNUSED) {
    struct memory *memory = context;
    size_t size = MIN(memory->left, (size_t)SLICE);
    *ret_data = memory->data;
    memory->data += size;
    memory->left -= size;
    return (int64_t)size;
}

int gzip_pass(const void *data, size_t size, const struct gzip_sink *sink, struct error *err) {
    struct memory memory = {data, size};
    return gzip_pass_on(&(struct gzip_source){&memory, next_of_memory}, sink, err);
}

int gzip_append(void *context, const void *data, size_t size, struct error *err) {
    struct buffer *buffer = context;
    return size > buffer->max - buffer->size
               ? error_set(err, ERROR_INVALID, "has more than %zu bytes unpacked", buffer->max)
               : buffer_append(buffer, data, size, err);
}
