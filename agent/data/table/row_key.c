// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/row_key.h"

#include "lib/text/jsontext.h"
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

/* A key is KEY_NONE, or KEY_VALUES and the values. A value is its type, its bytes (0 and 1 escaped
 * as 1 1 and 1 2), and a 0. */
enum {
    KEY_NONE = 0,
    KEY_VALUES = 1,
    VALUE_OTHER = 'j', /* as it is spelled */
    VALUE_TEXT = 's',
    NAME_MAX_BYTES = 4 << 10,
};

void row_key_columns_release(struct row_key_columns *columns) {
    for (size_t i = 0; i < columns->count; i++) {
        free(columns->names[i]);
    }
    *columns = (struct row_key_columns){0};
}

int row_key_column(struct row_key_columns *columns, const char *name, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, NAME_MAX_BYTES);
    if (columns->count == ROW_KEY_COLUMNS) {
        return error_set(err, ERROR_EXHAUSTED, "column %.100s: more than %d columns", name,
                         ROW_KEY_COLUMNS);
    }
    if (buffer_append(&text, "\"", 1, err) < 0 ||
        jsontext_escape(&text, name, strlen(name), err) < 0 ||
        buffer_append(&text, "\"", 1, err) < 0) {
        return -1;
    }
    columns->names[columns->count++] = buffer_take(&text, NULL);
    return 0;
}

/* ---- from a row ----------------------------------------------------------------------------- */

static int add_type(struct buffer *key, char type, struct error *err) {
    return buffer_append(key, &type, 1, err);
}

static int add_bytes(struct buffer *key, char type, const char *bytes, size_t size,
                     struct error *err) {
    int result = add_type(key, type, err);
    for (size_t i = 0; i < size && result == 0; i++) {
        bool is_low = (unsigned char)bytes[i] <= 1;
        const char pair[2] = {1, (char)(bytes[i] + 1)};
        result = buffer_append(key, is_low ? pair : bytes + i, is_low ? 2 : 1, err);
    }
    return result < 0 ? -1 : buffer_append(key, "", 1, err);
}

/* Adds a JSON value; NULL: missing. */
static int add_value(struct buffer *key, const char *value, size_t size, struct error *err) {
    bool is_text = value && *value == '"';
    if (is_text && !memchr(value, '\\', size)) {
        return add_bytes(key, VALUE_TEXT, value + 1, size - 2, err);
    }
    AUTO(tree_freep)
    json_t *text = is_text ? json_loadb(value, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
    if (text) {
        return add_bytes(key, VALUE_TEXT, json_string_value(text), json_string_length(text), err);
    }
    return value ? add_bytes(key, VALUE_OTHER, value, size, err)
                 : add_bytes(key, VALUE_OTHER, "null", strlen("null"), err);
}

int row_key_make(const struct row_key_columns *columns, const char *json, size_t size,
                 struct buffer *key, struct error *err) {
    const char *end = json + size, *at = json ? jsontext_space(json, end) : end;
    struct jsontext_member found[ROW_KEY_COLUMNS] = {0}, member;
    buffer_clear(key);
    if (at == end || *at != '{') {
        return add_type(key, KEY_NONE, err);
    }
    while (jsontext_next_member(&at, end, &member)) {
        for (size_t i = 0; i < columns->count; i++) {
            if (jsontext_is_named(&member, columns->names[i])) {
                found[i] = member; /* the last of several duplicates, like JSON parsers */
            }
        }
    }
    int result = add_type(key, KEY_VALUES, err);
    for (size_t i = 0; i < columns->count && result == 0; i++) {
        result = add_value(key, found[i].value, found[i].value_size, err);
    }
    return result;
}

/* ---- writing as JSON ------------------------------------------------------------------------ */

/* Writes the value at *at as JSON, and advances *at. */
static int write_value(struct buffer *text, const char *key, size_t *at, struct error *err) {
    AUTO(buffer_release) struct buffer value;
    bool is_text = key[(*at)++] == VALUE_TEXT;
    buffer_init(&value, SIZE_MAX / 2);
    for (; key[*at] != 0; (*at)++) {
        char byte = key[*at] == 1 ? (char)(key[++*at] - 1) : key[*at];
        if (buffer_append(&value, &byte, 1, err) < 0) {
            return -1;
        }
    }
    (*at)++;
    const char *bytes = value.data ? value.data : "";
    if (!is_text) {
        return buffer_append(text, bytes, value.size, err);
    }
    return buffer_append(text, "\"", 1, err) < 0 ||
                   jsontext_escape(text, bytes, value.size, err) < 0 ||
                   buffer_append(text, "\"", 1, err) < 0
               ? -1
               : 0;
}

int row_key_write(struct buffer *text, const char *key, size_t size, struct error *err) {
    if (*key == KEY_NONE) {
        return buffer_append(text, "null", 4, err);
    }
    int result = 0;
    for (size_t at = 1; at < size && result == 0;) {
        result = buffer_append(text, at == 1 ? "[" : ",", 1, err) < 0
                     ? -1
                     : write_value(text, key, &at, err);
    }
    return result < 0 ? -1 : buffer_append(text, "]", 1, err);
}
