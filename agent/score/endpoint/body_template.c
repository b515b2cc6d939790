// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/body_template.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 256 };

/* The column whose brace is at `at`; NULL: none begins there. */
static const char *column_at(const char *at, char name[static NAME_MAX_BYTES + 1]) {
    const char *end = *at == '{' ? strchr(at, '}') : NULL;
    size_t size = end ? (size_t)(end - at - 1) : 0;
    if (size == 0 || size > NAME_MAX_BYTES || at[1] == '{') {
        return NULL;
    }
    memcpy(name, at + 1, size);
    name[size] = 0;
    return end + 1;
}

static int find(const json_t *values, const char *name, const json_t **ret_value,
                struct error *err) {
    *ret_value = json_object_get(values, name);
    return *ret_value ? 0
                      : error_set(err, ERROR_INVALID,
                                  "there is no column \"%.100s\", which "
                                  "spec.scorer.endpoint.request.template names",
                                  name);
}

static int append_json(const json_t *value, struct buffer *body, struct error *err) {
    AUTO(text_freep) char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return buffer_append(body, text ? text : "null", text ? strlen(text) : 4, err);
}

/* ... within a text. */
static int append_text(const json_t *value, struct buffer *body, struct error *err) {
    if (json_is_string(value)) {
        return jsontext_escape(body, json_string_value(value), json_string_length(value), err);
    }
    AUTO(text_freep) char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return text ? jsontext_escape(body, text, strlen(text), err) : 0;
}

/* Up to and including a doubled brace, or up to a single one. */
static int append_plain(const char **at, struct buffer *body, struct error *err) {
    size_t size = strcspn(*at, "{}");
    if (jsontext_escape(body, *at, size, err) < 0) {
        return -1;
    }
    *at += size;
    if (**at && (*at)[1] == **at) {
        *at += 2;
        return buffer_append(body, *at - 1, 1, err);
    }
    return 0;
}

static int fill_text(const char *text, const json_t *values, struct buffer *body,
                     struct error *err) {
    char name[NAME_MAX_BYTES + 1];
    const json_t *value;
    const char *next = column_at(text, name);
    if (next && !*next) {
        return find(values, name, &value, err) < 0 ? -1 : append_json(value, body, err);
    }
    if (buffer_append(body, "\"", 1, err) < 0) {
        return -1;
    }
    while (*text) {
        const char *before = text;
        next = column_at(text, name);
        if (next) {
            if (find(values, name, &value, err) < 0 || append_text(value, body, err) < 0) {
                return -1;
            }
            text = next;
        } else if (append_plain(&text, body, err) < 0) {
            return -1;
        } else if (text == before) {
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.endpoint.request.template: unmatched brace before "
                             "\"%.40s\": write {column}, or {{ and }} for braces",
                             text);
        }
    }
    return buffer_append(body, "\"", 1, err);
}

static int fill_list(const json_t *list, const json_t *values, struct buffer *body,
                     struct error *err) {
    size_t i;
    json_t *value;
    json_array_foreach(list, i, value) {
        if (buffer_append(body, i ? "," : "[", 1, err) < 0 ||
            body_template_fill(value, values, body, err) < 0) {
            return -1;
        }
    }
    return json_array_size(list) ? buffer_append(body, "]", 1, err)
                                 : buffer_append(body, "[]", 2, err);
}

static int fill_object(const json_t *object, const json_t *values, struct buffer *body,
                       struct error *err) {
    const char *name, *comma = "{";
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        if (buffer_printf(body, err, "%s\"", comma) < 0 ||
            jsontext_escape(body, name, strlen(name), err) < 0 ||
            buffer_append(body, "\":", 2, err) < 0 ||
            body_template_fill(value, values, body, err) < 0) {
            return -1;
        }
        comma = ",";
    }
    return buffer_append(body, *comma == '{' ? "{}" : "}", *comma == '{' ? 2 : 1, err);
}

int body_template_fill(const json_t *template, const json_t *values, struct buffer *body,
                       struct error *err) {
    return json_is_string(template)   ? fill_text(json_string_value(template), values, body, err)
           : json_is_array(template)  ? fill_list(template, values, body, err)
           : json_is_object(template) ? fill_object(template, values, body, err)
                                      : append_json(template, body, err);
}

bool body_template_names(const json_t *template, const char *name) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t) template, key, value) {
        if (body_template_names(value, name)) {
            return true;
        }
    }
    for (size_t i = 0; i < json_array_size(template); i++) {
        if (body_template_names(json_array_get(template, i), name)) {
            return true;
        }
    }
    AUTO(text_freep) char *named = x_printf("{%s}", name);
    return json_is_string(template) && strstr(json_string_value(template), named);
}
