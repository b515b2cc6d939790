/* gzip.h: unpacking .gz in memory (zlib). Any thread. */
#pragma once

#include "lib/buffer.h"

/* The bytes begin as those of a .gz. */
bool gzip_is(const void *data, size_t size);

/* Appends what is packed (one member or several, as gzip writes them). INVALID: no sound .gz, cut
 * off, other bytes behind it, or more than fits below buffer->max. Errors do not name the file. */
NODISCARD int gzip_unpack(const void *data, size_t size, struct buffer *buffer, struct error *err);
