// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/command_line.h"

#include "lib/text/jsontext.h"
#include "lib/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_LINE_KEPT = 1 << 20 };

void command_lines_init(struct command_lines *lines, size_t line_bytes_max) {
    *lines = (struct command_lines){0};
    buffer_init(&lines->held, MAX(line_bytes_max, COMMAND_NOISE_MAX));
}

void command_lines_release(struct command_lines *lines) {
    buffer_release(&lines->held);
}

/* The kind of a line by its beginning; MORE: there are too few bytes to decide. */
static enum command_line_kind kind_of(const char *data, size_t size) {
    size_t looked = MIN(size, COMMAND_NOISE_MAX);
    const char *first = jsontext_space(data, data + looked);
    if (first < data + looked) {
        return *first == '{' ? COMMAND_LINE_OBJECT : COMMAND_LINE_NOISE;
    }
    return size < COMMAND_NOISE_MAX ? COMMAND_LINE_MORE : COMMAND_LINE_NOISE;
}

/* Keeps the bytes; of a line that cannot be an answer only the beginning. False: too long. */
static bool hold(struct buffer *held, const char *data, size_t size) {
    struct error ignored = {0};
    size_t small = MIN(size, COMMAND_NOISE_MAX - MIN(held->size, COMMAND_NOISE_MAX));
    if (buffer_append(held, data, small, &ignored) < 0) {
        return false;
    }
    return kind_of(held->data, held->size) != COMMAND_LINE_OBJECT ||
           buffer_append(held, data + small, size - small, &ignored) == 0;
}

void command_lines_expect(struct command_lines *lines, int64_t bytes) {
    assert(bytes > 0 && lines->body_left == 0 && !lines->is_begun);
    lines->body_bytes = lines->body_left = bytes;
}

static enum command_line_kind read_body(struct command_lines *lines, const char *data, size_t size,
                                        size_t *ret_used, const char **ret_line, size_t *ret_size) {
    struct buffer *held = &lines->held;
    struct error ignored = {0};
    bool is_kept = lines->body_bytes <= (int64_t)held->max;
    bool is_first = lines->body_left == lines->body_bytes;
    size_t taken = (size_t)MIN((int64_t)size, lines->body_left);
    bool is_whole = (int64_t)taken == lines->body_left;
    bool is_apart = is_kept && !(is_first && is_whole); /* it comes in pieces */
    if (is_first) {
        buffer_clear(held);
    }
    if (is_apart && buffer_append(held, data, taken, &ignored) < 0) {
        return COMMAND_LINE_TOO_LONG; /* does not happen: it fits */
    }
    lines->body_left -= (int64_t)taken;
    *ret_used = taken;
    if (!is_whole) {
        return COMMAND_LINE_MORE;
    }
    *ret_line = is_apart ? held->data : is_kept ? data : NULL;
    *ret_size = is_kept ? (size_t)lines->body_bytes : 0;
    return COMMAND_LINE_BODY;
}

enum command_line_kind command_lines_read(struct command_lines *lines, const char *data,
                                          size_t size, size_t *ret_used, const char **ret_line,
                                          size_t *ret_size) {
    struct buffer *held = &lines->held;
    if (lines->body_left > 0) {
        return read_body(lines, data, size, ret_used, ret_line, ret_size);
    }
    if (!lines->is_begun && held->capacity > COMMAND_LINE_KEPT) {
        buffer_release(held); /* frees the room of a long answer */
    } else if (!lines->is_begun) {
        buffer_clear(held);
    }
    const char *newline = size ? memchr(data, '\n', size) : NULL;
    size_t taken = newline ? (size_t)(newline - data) : size;
    *ret_used = taken + (newline != NULL);
    if ((!newline || lines->is_begun) && !hold(held, data, taken)) {
        return COMMAND_LINE_TOO_LONG;
    }
    if (!newline) {
        lines->is_begun |= size > 0;
        return COMMAND_LINE_MORE;
    }
    const char *line = lines->is_begun ? held->data : data;
    size_t line_size = lines->is_begun ? held->size : taken;
    lines->is_begun = false;
    enum command_line_kind kind = kind_of(line, line_size);
    if (kind == COMMAND_LINE_OBJECT && line_size > held->max) {
        return COMMAND_LINE_TOO_LONG; /* the same limit as for a line in several pieces */
    }
    *ret_line = line;
    *ret_size = kind == COMMAND_LINE_OBJECT ? line_size : MIN(line_size, COMMAND_NOISE_MAX);
    return kind == COMMAND_LINE_OBJECT ? kind : COMMAND_LINE_NOISE;
}

bool command_slice_is(const struct command_slice *slice, const char *text) {
    return slice->size == strlen(text) && memcmp(slice->at, text, slice->size) == 0;
}

int64_t command_slice_count(const struct command_slice *slice) {
    int64_t count = 0;
    if (slice->size == 0 || slice->size > 18) {
        return -1;
    }
    for (size_t i = 0; i < slice->size; i++) {
        if (slice->at[i] < '0' || slice->at[i] > '9') {
            return -1;
        }
        count = count * 10 + (slice->at[i] - '0');
    }
    return count;
}

static void read_member(const struct command_slice *name, const struct command_slice *value,
                        struct command_message *message) {
    if (command_slice_is(name, "\"id\"")) {
        message->id = command_slice_count(value);
        message->has_id = message->id >= 0;
    } else if (command_slice_is(name, "\"ready\"")) {
        message->is_ready = command_slice_is(value, "true");
    } else if (command_slice_is(name, "\"more\"")) {
        message->has_more = command_slice_is(value, "true");
    } else if (command_slice_is(name, "\"npy\"")) {
        message->npy = *value;
    } else if (command_slice_is(name, "\"results\"")) {
        message->results = *value;
    } else if (command_slice_is(name, "\"failed\"")) {
        message->failed = *value;
    } else if (command_slice_is(name, "\"error\"")) {
        message->error = *value;
    }
}

bool command_slice_take(const char **at, const char *end, struct command_slice *ret_slice) {
    const char *first = jsontext_space(*at, end), *last = jsontext_value(first, end);
    if (!last) {
        return false;
    }
    *ret_slice = (struct command_slice){first, (size_t)(last - first)};
    *at = jsontext_space(last, end);
    return true;
}

/* Skips the byte at *at. */
static bool take_byte(const char **at, const char *end, char byte) {
    bool is_there = *at < end && **at == byte;
    *at += is_there;
    return is_there;
}

static bool read_members(const char *at, const char *end, struct command_message *message) {
    at = jsontext_space(at, end);
    if (!take_byte(&at, end, '{')) {
        return false;
    }
    at = jsontext_space(at, end);
    if (!take_byte(&at, end, '}')) {
        do {
            struct command_slice name, value;
            if (!command_slice_take(&at, end, &name) || *name.at != '"' ||
                !take_byte(&at, end, ':') || !command_slice_take(&at, end, &value)) {
                return false;
            }
            read_member(&name, &value, message);
        } while (take_byte(&at, end, ','));
        if (!take_byte(&at, end, '}')) {
            return false;
        }
    }
    return jsontext_space(at, end) == end;
}

bool command_message_read(const char *line, size_t size, struct command_message *ret_message) {
    struct command_message message = {0};
    bool is_whole = read_members(line, line + size, &message);
    message.is_broken = !is_whole;
    if (!message.has_id && (message.is_broken || (!message.is_ready && !message.error.at))) {
        return false;
    }
    *ret_message = message;
    return true;
}

char *command_slice_text(const struct command_slice *slice) {
    json_t *value = slice->size <= 1 << 20
                        ? json_loadb(slice->at, slice->size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                        : NULL;
    const char *text = json_string_value(value);
    struct error line = {0}; /* an error's text is one clean, bounded line */
    int size = (int)MIN(slice->size, 1000);
    error_set(&line, ERROR_FAILED, "%.*s", text ? 1000 : size, text ? text : slice->at);
    json_decref(value);
    return x_strdup(line.text);
}
