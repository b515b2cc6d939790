/* gzip.h: unpacking .gz (zlib). Any thread. */
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

/* Where packed bytes come from. */
struct gzip_source {
    void *context;
    /* The next bytes, borrowed until the next call: their number, at most 1 GiB; 0: no more. -1. */
    int64_t (*next)(void *context, const void **ret_data, struct error *err);
};

/* Unpacks one gzip member or several, piece by piece. INVALID: corrupt, truncated, or followed by
 * other bytes; or the source's or sink's error. Errors do not name the file. */
NODISCARD int gzip_pass_on(const struct gzip_source *source, const struct gzip_sink *sink,
                           struct error *err);
/* As gzip_pass_on, of a file in memory. */
NODISCARD int gzip_pass(const void *data, size_t size, const struct gzip_sink *sink,
                        struct error *err);
/* Appends them to a buffer. INVALID: also if there are more than buffer->max. */
NODISCARD int gzip_append(void *buffer, const void *data, size_t size, struct error *err);
