// SPDX-License-Identifier: Apache-2.0
/* Trees as compact text, byte for byte as jansson writes it, in half of its time: a string without
 * escapes, which most are, is copied at once. */
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096 };

struct text {
    char *data; /* first, or memory of its own */
    size_t size, room;
    bool is_sorted;
    char first[FIRST_ROOM]; /* most texts fit: they take one piece of memory, of their size */
};

struct member {
    const char *key;
    size_t size;
    const json_t *value;
};

static void add(struct text *text, const char *data, size_t size) {
    if (text->room - text->size <= size) {
        text->room = 2 * (text->room + size);
        char *own = text->data == text->first ? NULL : text->data;
        text->data = x_realloc_array(own, text->room, 1);
        if (!own) {
            memcpy(text->data, text->first, text->size);
        }
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

enum { PLAIN, ESCAPED, OTHER };

static int kind_of(const char *data, size_t size) {
    int kind = PLAIN;
    bool is_ascii = true;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)data[i];
        is_ascii &= byte < 0x80;
        if (byte < ' ' || byte == '"' || byte == '\\') {
            kind = ESCAPED;
        }
    }
    return kind == ESCAPED && !is_ascii ? OTHER : kind;
}

/* The letter after the backslash; 0: it needs none, or more. */
static char letter_of(char byte) {
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = byte ? strchr(plain, byte) : NULL;
    return at ? letters[at - plain] : 0;
}

/* ASCII with escapes: a certificate, or JSON in an annotation. */
static void add_escaped(struct text *text, const char *data, size_t size) {
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        char escape[7] = {'\\', letter_of(data[i])};
        if (!escape[1] && (unsigned char)data[i] >= ' ') {
            continue;
        }
        if (!escape[1]) {
            snprintf(escape, sizeof escape, "\\u%04X", (unsigned)data[i]);
        }
        add(text, data + from, i - from);
        add(text, escape, strlen(escape));
        from = i + 1;
    }
    add(text, data + from, size - from);
}

/* A real number, or a string with escapes. */
static void add_by_jansson(struct text *text, const json_t *value) {
    AUTO(text_freep) char *written = json_dumps(value, JSON_ENCODE_ANY);
    const char *known = written ? written : "null"; /* NULL: text that is not UTF-8 */
    add(text, known, strlen(known));
}

static void add_string(struct text *text, const char *data, size_t size) {
    int kind = kind_of(data, size);
    if (kind == OTHER) {
        AUTO(tree_freep) json_t *string = json_stringn_nocheck(data, size);
        add_by_jansson(text, string);
        return;
    }
    add(text, "\"", 1);
    if (kind == PLAIN) {
        add(text, data, size);
    } else {
        add_escaped(text, data, size);
    }
    add(text, "\"", 1);
}

static int by_key(const void *left, const void *right) {
    const struct member *a = left, *b = right;
    int order = memcmp(a->key, b->key, MIN(a->size, b->size));
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void add_value(struct text *text, const json_t *value);

static void add_object(struct text *text, const json_t *object) {
    enum { FEW = 32 };
    struct member few[FEW];
    size_t count = json_object_size(object), at = 0;
    struct member *members = count > FEW ? x_calloc(count, sizeof *members) : few;
    json_t *mutable_object = (json_t *)(uintptr_t)object; /* jansson's iterators take no const */
    for (void *it = json_object_iter(mutable_object); it;
         it = json_object_iter_next(mutable_object, it)) {
        members[at++] = (struct member){json_object_iter_key(it), json_object_iter_key_len(it),
                                        json_object_iter_value(it)};
    }
    if (text->is_sorted) {
        qsort(members, count, sizeof *members, by_key);
    }
    add(text, "{", 1);
    for (size_t i = 0; i < count; i++) {
        add(text, ",", i > 0);
        add_string(text, members[i].key, members[i].size);
        add(text, ":", 1);
        add_value(text, members[i].value);
    }
    add(text, "}", 1);
    if (members != few) {
        free(members);
    }
}

static void add_array(struct text *text, const json_t *array) {
    add(text, "[", 1);
    for (size_t i = 0; i < json_array_size(array); i++) {
        add(text, ",", i > 0);
        add_value(text, json_array_get(array, i));
    }
    add(text, "]", 1);
}

static void add_integer(struct text *text, const json_t *value) {
    char digits[32];
    int size = snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    add(text, digits, (size_t)size);
}

static void add_value(struct text *text, const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        add_object(text, value);
        break;
    case JSON_ARRAY:
        add_array(text, value);
        break;
    case JSON_STRING:
        add_string(text, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        add_integer(text, value);
        break;
    case JSON_REAL:
        add_by_jansson(text, value);
        break;
    case JSON_TRUE:
        add(text, "true", 4);
        break;
    case JSON_FALSE:
        add(text, "false", 5);
        break;
    case JSON_NULL:
        add(text, "null", 4);
        break;
    }
}

static char *write_tree(const json_t *tree, bool is_sorted) {
    if (!tree) {
        return x_strdup("null");
    }
    struct text text;
    text.data = text.first;
    text.size = 0;
    text.room = FIRST_ROOM;
    text.is_sorted = is_sorted;
    add_value(&text, tree);
    text.data[text.size] = 0; /* add leaves room for it */
    return text.data == text.first ? x_strndup(text.first, text.size)
                                   : x_realloc_array(text.data, text.size + 1, 1);
}

char *tree_compact(const json_t *tree) {
    return write_tree(tree, false);
}

char *tree_canonical(const json_t *tree) {
    return write_tree(tree, true);
}
