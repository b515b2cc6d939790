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

enum command_line_kind command_lines_read(struct command_lines *lines, const char *data,
                                          size_t size, size_t *ret_used, const char **ret_line,
                                          size_t *ret_size) {
    struct buffer *held = &lines->held;
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

static bool is_string(const struct command_slice *slice, const char *text) {
    return slice->size == strlen(text) && memcmp(slice->at, text, slice->size) == 0;
}

static bool read_id(const struct command_slice *slice, int64_t *ret_id) {
    int64_t id = 0;
    if (slice->size == 0 || slice->size > 18) {
        return false;
    }
    for (size_t i = 0; i < slice->size; i++) {
        if (slice->at[i] < '0' || slice->at[i] > '9') {
            return false;
        }
        id = id * 10 + (slice->at[i] - '0');
    }
    *ret_id = id;
    return true;
}

static void read_member(const struct command_slice *name, const struct command_slice *value,
                        struct command_message *message) {
    if (is_string(name, "\"id\"")) {
        message->has_id = read_id(value, &message->id);
    } else if (is_string(name, "\"ready\"")) {
        message->is_ready = is_string(value, "true");
    } else if (is_string(name, "\"results\"")) {
        message->results = *value;
    } else if (is_string(name, "\"failed\"")) {
        message->failed = *value;
    } else if (is_string(name, "\"error\"")) {
        message->error = *value;
    }
}

/* Reads the value at *at, and white space around it, into the slice. */
static bool take_value(const char **at, const char *end, struct command_slice *ret_slice) {
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
            if (!take_value(&at, end, &name) || *name.at != '"' || !take_byte(&at, end, ':') ||
                !take_value(&at, end, &value)) {
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

/* Keeps at most one result per item, but counts all. */
static size_t read_results(const struct command_slice *slice, size_t items,
                           struct command_result *results) {
    const char *at = slice->at + 1, *end = slice->at + slice->size;
    size_t count = 0;
    struct command_slice value;
    for (at = jsontext_space(at, end); *at != ']'; at += *at == ',') {
        bool is_there = take_value(&at, end, &value);
        assert(is_there); /* the line was parsed before */
        if (is_there && count < items) {
            results[count].json = value.at;
            results[count].size = value.size;
        }
        count++;
    }
    return count;
}

/* Reads {"1":"no such shop"}. NULL, or what is wrong with it. */
static char *read_failed(const struct command_slice *slice, struct command_answer *answer) {
    const char *at = slice->at, *end = slice->at + slice->size;
    if (*at != '{') {
        return x_strdup("failed is not an object of indexes and causes");
    }
    at = jsontext_space(at + 1, end);
    while (*at != '}') {
        struct command_slice name, value;
        int64_t index = -1;
        bool is_there =
            take_value(&at, end, &name) && take_byte(&at, end, ':') && take_value(&at, end, &value);
        assert(is_there);
        take_byte(&at, end, ',');
        at = jsontext_space(at, end);
        struct command_slice digits = {name.at + 1, name.size - 2};
        if (!is_there || !read_id(&digits, &index) || (size_t)index >= answer->count) {
            return x_printf("failed names item %.*s, there are 0 to %lld", (int)MIN(name.size, 40),
                            name.at, (long long)answer->count - 1);
        }
        struct command_result *result = &answer->results[index];
        answer->failed += result->cause == NULL;
        free(result->cause);
        result->cause = command_slice_text(&value);
    }
    return NULL;
}

/* NULL, or what is wrong with it. */
static char *read_answer(const struct command_message *message, size_t items,
                         struct command_answer *answer) {
    if (message->is_broken) {
        return x_strdup("the answer is not JSON (NaN and Infinity are not allowed)");
    }
    if (message->error.at && !is_string(&message->error, "null")) {
        return command_slice_text(&message->error);
    }
    if (!message->results.at || *message->results.at != '[') {
        return x_strdup("the answer has neither results (a list) nor error");
    }
    answer->count = items;
    answer->results = x_calloc(MAX(items, 1), sizeof *answer->results);
    size_t count = read_results(&message->results, items, answer->results);
    if (count != items) {
        return x_printf("%zu results for %zu items", count, items);
    }
    bool has_failed = message->failed.at && !is_string(&message->failed, "null");
    return has_failed ? read_failed(&message->failed, answer) : NULL;
}

void command_answer_read(const struct command_message *message, size_t items,
                         struct command_answer *ret_answer) {
    struct command_answer answer = {0};
    char *error = read_answer(message, items, &answer);
    if (error) { /* no result counts */
        command_answer_release(&answer);
        answer = (struct command_answer){.error = error};
    }
    *ret_answer = answer;
}

void command_answer_release(struct command_answer *answer) {
    for (size_t i = 0; i < answer->count; i++) {
        free(answer->results[i].cause);
    }
    free(answer->results);
    free(answer->error);
    *answer = (struct command_answer){0};
}
