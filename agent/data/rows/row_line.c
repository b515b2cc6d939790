// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/row_line.h"

#include "lib/text/jsontext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values of records ---------------------------------------------------------------------- */

static int put(struct buffer *out, const char *text, struct error *err) {
    return buffer_append(out, text, strlen(text), err);
}

static int put_text(struct buffer *out, const char *text, size_t size, struct error *err) {
    return put(out, "\"", err) < 0 || jsontext_escape(out, text, size, err) < 0
               ? -1
               : put(out, "\"", err);
}

static int put_value(struct buffer *out, const json_t *value, struct error *err);

static int put_list(struct buffer *out, const json_t *list, struct error *err) {
    size_t i;
    json_t *value;
    if (put(out, "[", err) < 0) {
        return -1;
    }
    json_array_foreach(list, i, value) {
        if ((i && put(out, ",", err) < 0) || put_value(out, value, err) < 0) {
            return -1;
        }
    }
    return put(out, "]", err);
}

static int put_member(struct buffer *out, const char *name, const json_t *value,
                      struct error *err) {
    bool is_first = out->size && out->data[out->size - 1] == '{';
    return (!is_first && put(out, ",", err) < 0) || put_text(out, name, strlen(name), err) < 0 ||
                   put(out, ":", err) < 0
               ? -1
               : put_value(out, value, err);
}

static int put_object(struct buffer *out, const json_t *object, struct error *err) {
    const char *name;
    json_t *value;
    if (put(out, "{", err) < 0) {
        return -1;
    }
    json_object_foreach((json_t *)object, name, value) {
        if (put_member(out, name, value, err) < 0) {
            return -1;
        }
    }
    return put(out, "}", err);
}

/* Nine digits distinguish all floats, 17 all doubles. */
static int put_real(struct buffer *out, double value, struct error *err) {
    char text[40];
    bool is_float = (double)(float)value == value;
    snprintf(text, sizeof text, is_float ? "%.9g" : "%.17g", value);
    return put(out, text, err) < 0 || strpbrk(text, ".e") ? -(err->kind != ERROR_NONE)
                                                          : put(out, ".0", err);
}

static int put_value(struct buffer *out, const json_t *value, struct error *err) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return put_object(out, value, err);
    case JSON_ARRAY:
        return put_list(out, value, err);
    case JSON_STRING:
        return put_text(out, json_string_value(value), json_string_length(value), err);
    case JSON_REAL:
        return put_real(out, json_real_value(value), err);
    case JSON_INTEGER:
        return buffer_printf(out, err, "%lld", (long long)json_integer_value(value));
    case JSON_TRUE:
        return put(out, "true", err);
    case JSON_FALSE:
        return put(out, "false", err);
    case JSON_NULL:
    default:
        return put(out, "null", err);
    }
}

/* ---- results -------------------------------------------------------------------------------- */

/* The best class as columns of its own, and the list, if it has more. */
static int put_classes(struct buffer *out, const json_t *classes, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(json_array_get(classes, 0), name, value) {
        if (put_member(out, name, value, err) < 0) {
            return -1;
        }
    }
    return json_array_size(classes) > 1 ? put_member(out, "classes", classes, err) : 0;
}

static int put_result(struct buffer *out, const char *name, const json_t *value,
                      struct error *err) {
    const json_t *first = json_array_get(value, 0);
    if (strcmp(name, "classes") == 0 && json_is_object(first)) {
        return put_classes(out, value, err);
    }
    bool is_one = strcmp(name, "values") == 0 && json_array_size(value) == 1;
    return put_member(out, is_one ? "value" : name, is_one ? first : value, err);
}

static int put_record(const struct row_line *line, struct buffer *out, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)line->record, name, value) {
        bool is_name = line->has_name && strcmp(name, "file") == 0;
        if (!is_name && put_result(out, name, value, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int put_json(const struct row_line *line, struct buffer *out, struct error *err) {
    const char *end = line->json + line->json_size, *at = jsontext_space(line->json, end);
    bool is_first = out->data[out->size - 1] == '{';
    if (at == end || *at != '{') {
        return put(out, is_first ? "\"result\":" : ",\"result\":", err) < 0
                   ? -1
                   : jsontext_compact(out, line->json, line->json_size, err);
    }
    struct jsontext_member member;
    while (jsontext_next_member(&at, end, &member)) {
        bool is_name = line->has_name && jsontext_is_named(&member, "\"file\"");
        const char *comma = is_first ? "" : ",";
        if (is_name) {
            continue;
        }
        if (put(out, comma, err) < 0 ||
            buffer_append(out, member.name, member.name_size, err) < 0 || put(out, ":", err) < 0 ||
            jsontext_compact(out, member.value, member.value_size, err) < 0) {
            return -1;
        }
        is_first = false;
    }
    return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

enum { NAMES_MAX = 4096 };

static bool is_before(const struct jsontext_member *members, size_t count,
                      const struct jsontext_member *member) {
    for (size_t i = 0; i < count; i++) {
        if (jsontext_is_same_name(&members[i], member)) {
            return true;
        }
    }
    return false;
}

/* Each name may be there once: what a table would have to drop is refused here. */
static int check_names(const char *row, size_t size, struct error *err) {
    const char *at = row, *end = row + size;
    size_t count = 0, room = 16;
    struct jsontext_member *members = x_calloc(room, sizeof *members);
    int result = 0;
    for (; result == 0 && jsontext_next_member(&at, end, &members[count]); count++) {
        const struct jsontext_member *member = &members[count];
        if (is_before(members, count, member)) {
            result =
                error_set(err, ERROR_FAILED,
                          "a result has the member %.*s, which is also a column of the key, of "
                          "spec.output.columns or of the result: name it otherwise",
                          (int)MIN(member->name_size, (size_t)100), member->name);
        } else if (count + 1 == NAMES_MAX) {
            result = error_set(err, ERROR_FAILED, "a result has more than %d members", NAMES_MAX);
        } else if (count + 1 == room) {
            room *= 2;
            members = x_realloc_array(members, room, sizeof *members);
        }
    }
    free(members);
    return result;
}

int row_line_add(const struct row_line *line, struct buffer *out, struct error *err) {
    size_t before = out->size;
    if (put(out, "{", err) < 0 || put(out, line->head, err) < 0) {
        return -1;
    }
    int done = line->record ? put_record(line, out, err) : put_json(line, out, err);
    if (done < 0 || put(out, "}", err) < 0 ||
        check_names(out->data + before, out->size - before, err) < 0) {
        return -1;
    }
    return put(out, "\n", err);
}
