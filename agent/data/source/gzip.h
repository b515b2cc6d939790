/* gzip.h: unpacking .gz in memory (zlib). Any thread. */
#pragma once

#include "lib/buffer.h"

/* True if the bytes begin with gzip's magic number. */
bool gzip_is(const void *data, size_t size);

/* Appends the unpacked data (one gzip member or several). INVALID: corrupt, truncated, followed by
 * other bytes, or larger than buffer->max. Errors do not name the file. */
NODISCARD int gzip_unpack(const void *data, size_t size, struct buffer *buffer, struct error *err);
/* Only the first bytes of that, up to `room`: *ret_size of them, fewer if the first member has no
 * more. INVALID: it is damaged before. */
NODISCARD int gzip_peek(const void *data, size_t size, void *to, size_t room, size_t *ret_size,
                        struct error *err);
