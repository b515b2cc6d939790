// SPDX-License-Identifier: Apache-2.0
#include "agent/score/message.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"hello", "result", "lease", "cancel", "done", "refused"};
static_assert(ARRAY_LEN(type_names) == MESSAGE_TYPE_COUNT, "one name per type");

/* JSON numbers are exact up to here in every reader. */
static const int64_t integer_max = (int64_t)1 << 53;

static int read_integer(const json_t *tree, const char *field, int64_t minimum, int64_t *ret_value,
                        struct error *err) {
    const json_t *value = json_object_get(tree, field);
    if (!json_is_integer(value) || json_integer_value(value) < minimum ||
        json_integer_value(value) > integer_max) {
        return error_set(err, ERROR_INVALID, "%s is not an integer of at least %lld", field,
                         (long long)minimum);
    }
    *ret_value = json_integer_value(value);
    return 0;
}

/* A pod's name, and nothing that could break a log line or a file name. */
static int read_name(const json_t *tree, char name[static MESSAGE_NAME_MAX + 1],
                     struct error *err) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._";
    const char *text = json_string_value(json_object_get(tree, "worker"));
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length > MESSAGE_NAME_MAX || strspn(text, allowed) != length ||
        *text == '.') {
        return error_set(err, ERROR_INVALID,
                         "worker is not a name of 1 to %d letters, digits, '-', '.' and '_'",
                         MESSAGE_NAME_MAX);
    }
    memcpy(name, text, length + 1);
    return 0;
}

static int read_text(const json_t *tree, const char *field, struct message *message,
                     struct error *err) {
    const char *text = json_string_value(json_object_get(tree, field));
    if (!text) {
        return error_set(err, ERROR_INVALID, "%s is not a text", field);
    }
    struct error line = {0}; /* an error's text is one tidy, bounded line */
    error_set(&line, ERROR_FAILED, "%s", text);
    static_assert(sizeof line.text <= sizeof message->text, "the line fits");
    memcpy(message->text, line.text, sizeof line.text);
    return 0;
}

static int read_result(const json_t *tree, struct message *message, struct error *err) {
    if (read_integer(tree, "lease", 0, &message->lease, err) < 0) {
        return -1;
    }
    message->is_error = json_object_get(tree, "error") != NULL;
    if (message->is_error) {
        return read_text(tree, "error", message, err);
    }
    const json_t *seconds = json_object_get(tree, "seconds");
    message->seconds = json_is_number(seconds) ? json_number_value(seconds) : -1;
    if (!(message->seconds >= 0) || !isfinite(message->seconds)) {
        return error_set(err, ERROR_INVALID, "seconds is not a number of at least 0");
    }
    return read_integer(tree, "items", 0, &message->items, err);
}

static int read_lease(const json_t *tree, struct message *message, struct error *err) {
    int64_t try = 0;
    if (read_integer(tree, "lease", 0, &message->lease, err) < 0 ||
        read_integer(tree, "batch", 0, &message->batch, err) < 0 ||
        read_integer(tree, "try", 1, &try, err) < 0 ||
        read_integer(tree, "parts", 0, &message->parts, err) < 0) {
        return -1;
    }
    if (try > 1000000) {
        return error_set(err, ERROR_INVALID, "try is larger than 1000000");
    }
    message->try = (int)try;
    json_t *work = json_object_get(tree, "work");
    if (!json_is_object(work)) {
        return error_set(err, ERROR_INVALID, "work is not an object");
    }
    message->work = json_incref(work);
    return 0;
}

static int read_fields(const json_t *tree, struct message *message, struct error *err) {
    const char *type = json_string_value(json_object_get(tree, "type"));
    int index = 0;
    while (index < MESSAGE_TYPE_COUNT && (!type || strcmp(type, type_names[index]) != 0)) {
        index++;
    }
    message->type = (enum message_type)index;
    switch (message->type) {
    case MESSAGE_HELLO:
        return read_name(tree, message->name, err);
    case MESSAGE_RESULT:
        return read_result(tree, message, err);
    case MESSAGE_LEASE:
        return read_lease(tree, message, err);
    case MESSAGE_CANCEL:
        return read_integer(tree, "lease", 0, &message->lease, err);
    case MESSAGE_DONE:
        return 0;
    case MESSAGE_REFUSED:
        return read_text(tree, "message", message, err);
    default:
        return error_set(err, ERROR_INVALID,
                         "type is none of hello, result, lease, cancel, done, "
                         "refused");
    }
}

int message_parse(const char *text, size_t size, struct message *ret_message, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(text, size, MESSAGE_BYTES_MAX, &tree, err) < 0) {
        return -1;
    }
    if (!json_is_object(tree)) {
        return error_set(err, ERROR_INVALID, "a message is not a JSON object");
    }
    struct message message = {0};
    if (read_fields(tree, &message, err) < 0) {
        return -1;
    }
    *ret_message = message;
    return 0;
}

char *message_format(const struct message *message) {
    AUTO(tree_freep) json_t *tree = json_object();
    json_object_set_new(tree, "type", json_string(type_names[message->type]));
    switch (message->type) {
    case MESSAGE_HELLO:
        json_object_set_new(tree, "worker", json_string(message->name));
        break;
    case MESSAGE_RESULT:
        json_object_set_new(tree, "lease", json_integer(message->lease));
        if (message->is_error) {
            json_object_set_new(tree, "error", json_string(message->text));
        } else {
            json_object_set_new(tree, "items", json_integer(message->items));
            json_object_set_new(tree, "seconds", json_real(message->seconds));
        }
        break;
    case MESSAGE_LEASE:
        json_object_set_new(tree, "lease", json_integer(message->lease));
        json_object_set_new(tree, "batch", json_integer(message->batch));
        json_object_set_new(tree, "try", json_integer(message->try));
        json_object_set_new(tree, "parts", json_integer(message->parts));
        json_object_set(tree, "work", message->work);
        break;
    case MESSAGE_CANCEL:
        json_object_set_new(tree, "lease", json_integer(message->lease));
        break;
    case MESSAGE_REFUSED:
        json_object_set_new(tree, "message", json_string(message->text));
        break;
    default:
        break;
    }
    char *text = json_dumps(tree, JSON_COMPACT);
    return text ? text : x_strdup("{}");
}

void message_release(struct message *message) {
    json_decref(TAKE(message->work));
}
