// SPDX-License-Identifier: Apache-2.0
#include "lib/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_init(struct buffer *buffer, size_t max) {
    assert(max < SIZE_MAX);
    *buffer = (struct buffer){.max = max};
}

void buffer_release(struct buffer *buffer) {
    free(buffer->data);
    buffer_init(buffer, buffer->max);
}

void buffer_clear(struct buffer *buffer) {
    buffer->size = 0;
    if (buffer->data) {
        buffer->data[0] = 0;
    }
}

static int reserve(struct buffer *buffer, size_t more, struct error *err) {
    if (more > buffer->max - buffer->size) {
        return error_set(err, ERROR_EXHAUSTED, "larger than the limit of %zu bytes", buffer->max);
    }
    size_t wanted = buffer->size + more + 1;
    if (wanted > buffer->capacity) {
        size_t doubled = MIN(MAX(buffer->capacity * 2, 64), buffer->max + 1);
        buffer->capacity = MAX(wanted, doubled);
        buffer->data = x_realloc(buffer->data, buffer->capacity);
    }
    return 0;
}

int buffer_extend(struct buffer *buffer, size_t size, char **ret_data, struct error *err) {
    if (reserve(buffer, size, err) < 0) {
        return -1;
    }
    *ret_data = buffer->data + buffer->size;
    buffer->size += size;
    buffer->data[buffer->size] = 0;
    return 0;
}

int buffer_append(struct buffer *buffer, const void *data, size_t size, struct error *err) {
    char *room = NULL;
    if (buffer_extend(buffer, size, &room, err) < 0) {
        return -1;
    }
    if (size) {
        memcpy(room, data, size);
    }
    return 0;
}

/* Nearly all texts fit into the room here, which saves two allocations. */
int buffer_printf(struct buffer *buffer, struct error *err, const char *format, ...) {
    char room[256], *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room, sizeof room, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof room) {
        va_start(arguments, format);
        length = vasprintf(&text, format, arguments);
        va_end(arguments);
    }
    if (length < 0) {
        return error_set(err, ERROR_BUG, "cannot format '%s'", format);
    }
    int result = buffer_append(buffer, text ? text : room, (size_t)length, err);
    free(text);
    return result;
}

void buffer_drop(struct buffer *buffer, size_t size) {
    assert(size <= buffer->size);
    if (size) {
        memmove(buffer->data, buffer->data + size, buffer->size - size + 1);
        buffer->size -= size;
    }
}

char *buffer_take(struct buffer *buffer, size_t *ret_size) {
    char *data = buffer->data ? TAKE(buffer->data) : x_calloc(1, 1);
    if (ret_size) {
        *ret_size = buffer->size;
    }
    buffer_init(buffer, buffer->max);
    return data;
}
