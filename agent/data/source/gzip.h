/* gzip.h: unpacking .gz in memory (zlib). Any thread. */
#pragma once

#include "lib/buffer.h"

/* True if the bytes begin with gzip's magic number. */
bool gzip_is(const void *data, size_t size);

/* Where unpacked bytes go. */
struct gzip_sink {
    void *context;
    /* The next bytes. -1: no more are wanted. */
    int (*take)(void *context, const void *data, size_t size, struct error *err);
};

/* Unpacks one gzip member or several, piece by piece. INVALID: corrupt, truncated, or followed by
 * other bytes; or the sink's error. Errors do not name the file. */
NODISCARD int gzip_pass(const void *data, size_t size, const struct gzip_sink *sink,
                        struct error *err);
/* Appends them to a buffer. INVALID: also if there are more than buffer->max. */
NODISCARD int gzip_append(void *buffer, const void *data, size_t size, struct error *err);
