// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/import/import_notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 400 };

void import_init(struct import *import, const char *name) {
    *import = (struct import){.name = name,
                              .metadata = json_object(),
                              .spec = json_object(),
                              .notes = json_object(),
                              .left_out = json_array(),
                              .mounts = json_object()};
}

void import_release(struct import *import) {
    json_decref(import->metadata);
    json_decref(import->spec);
    json_decref(import->notes);
    json_decref(import->left_out);
    json_decref(import->mounts);
}

/* Replaces line breaks: text of the file must not end a comment. */
static json_t *line_of(const char *before, const char *format, va_list arguments) {
    struct error tidy = {0};
    char text[LINE_MAX_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    error_set(&tidy, ERROR_FAILED, "%s%s", before, text);
    return json_string(tidy.text);
}

/* Two mounts may have the same account, and two pods the same field. */
static void add_once(json_t *lines, json_t *line) {
    if (line && !tree_has_text(lines, json_string_value(line))) {
        json_array_append(lines, line);
    }
}

void import_note(struct import *import, const char *field, const char *format, ...) {
    json_t *lines = tree_ensure_list(import->notes, field);
    va_list arguments;
    va_start(arguments, format);
    AUTO(tree_freep) json_t *line = line_of("", format, arguments);
    va_end(arguments);
    add_once(lines, line);
}

void import_leave_out(struct import *import, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    AUTO(tree_freep)
    json_t *line = line_of(import->prefix ? import->prefix : "", format, arguments);
    va_end(arguments);
    add_once(import->left_out, line);
}

void import_report(struct import *import, const json_t *object, const char *where,
                   const struct import_field *table) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        const struct import_field *known = table;
        while (known->name && strcmp(known->name, name) != 0) {
            known++;
        }
        if (!json_is_null(value) && (!known->name || known->why)) {
            import_leave_out(import, "%s%.80s: %s", where, name,
                             known->why ? known->why : "it has no counterpart");
        }
    }
}

char *import_scalar(const json_t *value) {
    return json_is_string(value) ? x_strdup(json_string_value(value))
           : json_is_number(value) || json_is_boolean(value)
               ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
               : NULL;
}

int64_t import_integer(struct import *import, const json_t *object, const char *path,
                       int64_t fallback) {
    const json_t *value = tree_get(object, path);
    AUTO(text_freep) char *text = import_scalar(value);
    char *end = text;
    errno = 0;
    long long number = text ? strtoll(text, &end, 10) : 0;
    if (text && end != text && !*end && errno == 0) {
        return MIN(MAX(number, INT64_MIN / 4), INT64_MAX / 4);
    }
    if (value && !json_is_null(value)) {
        import_leave_out(import, "%s: %.100s is not a whole number: as if it were %lld", path,
                         text ? text : "it", (long long)fallback);
    }
    return fallback;
}

json_t *import_words(const json_t *list) {
    json_t *words = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO(text_freep) char *word = import_scalar(json_array_get(list, i));
        json_array_append_new(words, json_string(word ? word : ""));
    }
    return words;
}

void import_set(struct import *import, const char *field, const json_t *value) {
    if (value && !json_is_null(value)) {
        json_object_set_new(import->spec, field, json_deep_copy(value));
    }
}
