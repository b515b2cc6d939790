/* buffer.h: a growing byte array with a mandatory maximum, always followed by a NUL that size does
 * not count. Use it for all bytes from outside. Not thread-safe. */
#pragma once

#include "lib/error.h"

struct buffer {
    char *data; /* owned; NULL until the first bytes */
    size_t size;
    size_t capacity;
    size_t max; /* bytes; growing beyond it fails with ERROR_EXHAUSTED */
};

void buffer_init(struct buffer *buffer, size_t max);
void buffer_release(struct buffer *buffer); /* also for AUTO; the buffer stays usable, empty */
void buffer_clear(struct buffer *buffer);   /* size 0, keeps the memory */

/* All fail with EXHAUSTED, and change nothing, when the result would be larger than max. */
NODISCARD int buffer_append(struct buffer *buffer, const void *data, size_t size,
                            struct error *err);
NODISCARD int buffer_printf(struct buffer *buffer, struct error *err, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Grows by `size` bytes for the caller to fill: *ret_data, valid until the next call. */
NODISCARD int buffer_extend(struct buffer *buffer, size_t size, char **ret_data, struct error *err);
/* Removes the first `size` bytes; there must be as many. */
void buffer_drop(struct buffer *buffer, size_t size);
/* Moves the bytes out: never NULL, the caller frees. ret_size may be NULL. The buffer is empty
 * afterwards. */
char *buffer_take(struct buffer *buffer, size_t *ret_size);
