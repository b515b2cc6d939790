// SPDX-License-Identifier: Apache-2.0
/* Trees as compact text, byte for byte as jansson writes it, in half of its time: a string without
 * escapes, which most are, is copied at once. */
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

struct text {
    char *data;
    size_t size, room;
    bool is_sorted;
};

struct member {
    const char *key;
    size_t size;
    const json_t *value;
};

static void add(struct text *text, const char *data, size_t size) {
    if (text->room - text->size <= size) {
        text->room = 2 * (text->room + size);
        text->data = x_realloc_array(text->data, text->room, 1);
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
}

static bool is_plain(const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)data[i];
        if (byte < ' ' || byte == '"' || byte == '\\') {
            return false;
        }
    }
    return true;
}

/* A real number, or a string with escapes. */
static void add_by_jansson(struct text *text, const json_t *value) {
    AUTO(text_freep) char *written = json_dumps(value, JSON_ENCODE_ANY);
    const char *known = written ? written : "null"; /* NULL: text that is not UTF-8 */
    add(text, known, strlen(known));
}

static void add_string(struct text *text, const char *data, size_t size) {
    if (!is_plain(data, size)) {
        AUTO(tree_freep) json_t *string = json_stringn_nocheck(data, size);
        add_by_jansson(text, string);
        return;
    }
    add(text, "\"", 1);
    add(text, data, size);
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
    enum { ROOM_FIRST = 1024 };
    if (!tree) {
        return x_strdup("null");
    }
    struct text text = {.data = x_malloc(ROOM_FIRST), .room = ROOM_FIRST, .is_sorted = is_sorted};
    add_value(&text, tree);
    text.data[text.size] = 0; /* add leaves room for it */
    return text.data;
}

char *tree_compact(const json_t *tree) {
    return write_tree(tree, false);
}

char *tree_canonical(const json_t *tree) {
    return write_tree(tree, true);
}
