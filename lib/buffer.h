/* buffer.h: growing bytes with a mandatory maximum, always followed by a NUL that is not counted.
 * Any module that collects bytes from outside uses it. Not thread-safe. */
#pragma once

#include "lib/error.h"

struct buffer {
    char *data; /* NULL when empty and never grown */
    size_t size;
    size_t capacity;
    size_t max; /* bytes; growing beyond it fails with ERROR_EXHAUSTED */
};

void buffer_init(struct buffer *buffer, size_t max);
void buffer_release(struct buffer *buffer); /* for AUTO, too; the buffer can be initialised again */
void buffer_clear(struct buffer *buffer);   /* keeps the memory */

NODISCARD int buffer_append(struct buffer *buffer, const void *data, size_t size,
                            struct error *err);
NODISCARD int buffer_printf(struct buffer *buffer, struct error *err, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Grows by `size` bytes that the caller fills: *ret_data, until the next call. */
NODISCARD int buffer_extend(struct buffer *buffer, size_t size, char **ret_data, struct error *err);
/* Removes the first `size` bytes. */
void buffer_drop(struct buffer *buffer, size_t size);
/* Moves the bytes out; the caller frees them. Never NULL. The buffer is empty afterwards. */
char *buffer_take(struct buffer *buffer, size_t *ret_size);
