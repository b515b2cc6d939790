// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/row_value.h"

#include <stdlib.h>
#include <string.h>

/* A part of a pointer, without its escapes, in `text`. False: a wrong escape. */
static bool unescape(const char *part, size_t size, char *text) {
    for (size_t i = 0; i < size; i++) {
        char byte = part[i];
        if (byte == '~') {
            if (++i == size || (part[i] != '0' && part[i] != '1')) {
                return false;
            }
            byte = part[i] == '0' ? '~' : '/';
        }
        *text++ = byte;
    }
    *text = 0;
    return true;
}

/* "0", "1", ... without zeros in front. */
static const json_t *element(const json_t *array, const char *text) {
    size_t digits = strspn(text, "0123456789");
    bool is_index = digits > 0 && digits < 10 && !text[digits] && (text[0] != '0' || digits == 1);
    return is_index ? json_array_get(array, strtoul(text, NULL, 10)) : NULL;
}

const json_t *row_value(const json_t *row, const char *name) {
    const json_t *value = json_object_get(row, name);
    if (value || name[0] != '/') {
        return value;
    }
    AUTO(text_freep) char *text = x_malloc(strlen(name) + 1);
    value = row;
    for (const char *at = name; *at == '/' && value;) {
        size_t size = strcspn(at + 1, "/");
        if (!unescape(at + 1, size, text)) {
            return NULL;
        }
        value = json_is_array(value) ? element(value, text) : json_object_get(value, text);
        at += 1 + size;
    }
    return value;
}

void row_value_add_name(json_t *names, const char *name) {
    size_t i;
    json_t *known;
    json_array_foreach(names, i, known) {
        if (strcmp(json_string_value(known), name) == 0) {
            return;
        }
    }
    json_array_append_new(names, json_string(name));
}
