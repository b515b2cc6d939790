// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/request.h"

#include "lib/text/jsontext.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_TOKEN = 4 };

void endpoint_request_init(struct endpoint_request *request) {
    *request = (struct endpoint_request){.method = "POST"};
    buffer_init(&request->id, REQUEST_ID_BYTES);
    buffer_init(&request->body, REQUEST_BODY_MAX);
}

void endpoint_request_release(struct endpoint_request *request) {
    buffer_release(&request->id);
    buffer_release(&request->body);
}

/* Finds members of an object of valid JSON, in one pass; of several with a name the last one, as
 * parsers take it. One that is absent has the size 0. */
static void find(const char *json, size_t size, const char *const *quoted, size_t count,
                 struct jsontext_member *ret_members) {
    const char *at = json, *end = json + size;
    struct jsontext_member member;
    memset(ret_members, 0, count * sizeof *ret_members);
    while (jsontext_next_member(&at, end, &member)) {
        for (size_t i = 0; i < count; i++) {
            if (jsontext_is_named(&member, quoted[i])) {
                ret_members[i] = member;
            }
        }
    }
}

/* A text without escapes is read in place. */
static bool read_text(const struct jsontext_member *member, char *text, size_t room) {
    const char *value = member->value;
    size_t size = member->value_size;
    *text = 0;
    if (size < 2 || *value != '"') {
        return false;
    }
    if (!memchr(value, '\\', size)) {
        snprintf(text, room, "%.*s", (int)(size - 2), value + 1);
        return size - 2 < room;
    }
    AUTO(tree_freep) json_t *parsed = json_loadb(value, size, JSON_DECODE_ANY, NULL);
    snprintf(text, room, "%s", parsed ? json_string_value(parsed) : "");
    return parsed && json_string_length(parsed) < room;
}

static bool is_object(const char *text, size_t size) {
    return size > 0 && *jsontext_space(text, text + size) == '{';
}

/* ---- a line of a batch file ----------------------------------------------------------------- */

static int take_id(const struct jsontext_member *member, struct buffer *id, struct error *err) {
    char text[REQUEST_ID_MAX + 1];
    if (!read_text(member, text, sizeof text) || !*text) {
        return error_set(
            err, ERROR_INVALID,
            "custom_id is missing, or not a string of 1 to %d bytes: give each line one "
            "of its own",
            REQUEST_ID_MAX);
    }
    return buffer_append(id, member->value, member->value_size, err);
}

static int take_method(const struct jsontext_member *member, struct error *err) {
    char method[16];
    return member->value_size == 0 ||
                   (read_text(member, method, sizeof method) && strcmp(method, "POST") == 0)
               ? 0
               : error_set(err, ERROR_INVALID, "method is not \"POST\", the only one of a batch");
}

const char *endpoint_path_at(const char *base, const char *path) {
    const char *last = strrchr(base, '/');
    size_t size = last && last > base && last[-1] != '/' ? strlen(last) : 0;
    return size > 0 && strncmp(path, last, size) == 0 && path[size] == '/' ? path + size : path;
}

static bool is_path(const char *path) {
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f) {
            return false;
        }
    }
    return *path == '/';
}

static int take_path(const struct jsontext_member *member, struct endpoint_request *request,
                     struct error *err) {
    return read_text(member, request->path, sizeof request->path) && is_path(request->path)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "url is missing, or not a path such as \"/v1/chat/completions\"");
}

static int take_body(const struct jsontext_member *member, struct endpoint_request *request,
                     struct error *err) {
    struct error full = {0};
    if (!is_object(member->value, member->value_size)) {
        return error_set(err, ERROR_INVALID, "body is missing, or not an object");
    }
    return buffer_append(&request->body, member->value, member->value_size, &full) < 0
               ? error_set(err, ERROR_INVALID, "body has more than %d MiB", REQUEST_BODY_MAX >> 20)
               : 0;
}

int endpoint_request_look(struct endpoint_request *request, struct error *err) {
    static const char *const names[] = {"\"model\"", "\"max_tokens\"", "\"max_completion_tokens\"",
                                        "\"max_output_tokens\"", "\"stream\""};
    enum { STREAM = ARRAY_LEN(names) - 1 };
    struct jsontext_member members[ARRAY_LEN(names)] = {0};
    const char *body = request->body.data ? request->body.data : "";
    size_t size = request->body.size;
    char model[REQUEST_MODEL_MAX];
    request->tokens = (int64_t)size / BYTES_PER_TOKEN + 1;
    if (is_object(body, size)) {
        find(body, size, names, ARRAY_LEN(names), members);
    }
    (void)read_text(&members[0], model, sizeof model);
    for (size_t i = 1; i < STREAM; i++) {
        if (members[i].value_size > 0) {
            request->tokens += MAX(MIN(strtol(members[i].value, NULL, 10), 1L << 20), 0L);
        }
    }
    snprintf(request->key, sizeof request->key, "%s %s", request->path, model);
    bool is_stream =
        members[STREAM].value_size == 4 && memcmp(members[STREAM].value, "true", 4) == 0;
    return is_stream ? error_set(err, ERROR_INVALID,
                                 "body.stream is true: answers are read whole; leave it out")
                     : 0;
}

int endpoint_request_of_line(const char *line, size_t size, struct endpoint_request *request,
                             struct error *err) {
    static const char *const names[] = {"\"custom_id\"", "\"method\"", "\"url\"", "\"body\""};
    struct jsontext_member members[ARRAY_LEN(names)];
    const char *start = jsontext_space(line, line + size);
    size -= (size_t)(start - line);
    line = start;
    buffer_clear(&request->id);
    buffer_clear(&request->body);
    if (!jsontext_is_value(line, size) || !is_object(line, size)) {
        return error_set(
            err, ERROR_INVALID,
            "is not a JSON object: a line of a batch file is {\"custom_id\": ..., "
            "\"method\": \"POST\", \"url\": \"/v1/chat/completions\", \"body\": {...}}");
    }
    find(line, size, names, ARRAY_LEN(names), members);
    if (take_id(&members[0], &request->id, err) < 0 || take_method(&members[1], err) < 0 ||
        take_path(&members[2], request, err) < 0 || take_body(&members[3], request, err) < 0) {
        return -1;
    }
    return endpoint_request_look(request, err);
}

int endpoint_request_id(const char *line, size_t size, struct buffer *id, struct error *err) {
    static const char *const name[] = {"\"custom_id\""};
    struct jsontext_member member = {0};
    const char *start = jsontext_space(line, line + size);
    size -= (size_t)(start - line);
    buffer_clear(id);
    if (jsontext_is_value(start, size) && is_object(start, size)) {
        find(start, size, name, 1, &member);
    }
    return take_id(&member, id, err);
}
