// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/import/import_notes.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 400 };

/* Replaces line breaks: text of the file must not end a comment. */
static json_t *line_of(const char *format, va_list arguments) {
    struct error tidy = {0};
    char text[LINE_MAX_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    error_set(&tidy, ERROR_FAILED, "%s", text);
    return json_string(tidy.text);
}

void import_note(struct import *import, const char *field, const char *format, ...) {
    json_t *lines = json_object_get(import->notes, field);
    if (!lines) {
        lines = json_array();
        json_object_set_new(import->notes, field, lines);
    }
    va_list arguments;
    va_start(arguments, format);
    AUTO(tree_freep) json_t *line = line_of(format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        if (json_equal(json_array_get(lines, i), line)) {
            return; /* two mounts have the same account */
        }
    }
    json_array_append(lines, line);
}

void import_leave_out(struct import *import, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    json_array_append_new(import->left_out, line_of(format, arguments));
    va_end(arguments);
}
