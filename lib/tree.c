// SPDX-License-Identifier: Apache-2.0
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

json_t *tree_get(const json_t *tree, const char *path) {
    while (tree && *path) {
        if (*path == '[') {
            char *end;
            unsigned long index = strtoul(path + 1, &end, 10);
            tree = *end == ']' ? json_array_get(tree, index) : NULL;
            path = *end == ']' ? end + 1 : end;
        } else {
            size_t length = strcspn(path, ".[");
            tree = json_object_getn(tree, path, length);
            path += length;
        }
        path += *path == '.';
    }
    return (json_t *)tree;
}

const char *tree_text(const json_t *tree, const char *path, const char *fallback) {
    const char *text = json_string_value(tree_get(tree, path));
    return text ? text : fallback;
}

int tree_choice(const json_t *tree, const char *path, const char *const *names, int count) {
    const char *given = tree_text(tree, path, "");
    for (int i = 0; i < count; i++) {
        if (strcmp(given, names[i]) == 0) {
            return i;
        }
    }
    return 0;
}

const json_t *tree_find(const json_t *list, const char *path, const char *text) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (strcmp(tree_text(one, path, ""), text) == 0) {
            return one;
        }
    }
    return NULL;
}

int64_t tree_integer(const json_t *tree, const char *path, int64_t fallback) {
    const json_t *value = tree_get(tree, path);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

bool tree_bool(const json_t *tree, const char *path, bool fallback) {
    const json_t *value = tree_get(tree, path);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

json_t *tree_ensure_object(json_t *object, const char *name) {
    json_t *part = json_object_get(object, name);
    if (!part) {
        part = json_object();
        json_object_set_new(object, name, part);
    }
    return part;
}

json_t *tree_ensure_list(json_t *object, const char *name) {
    json_t *part = json_object_get(object, name);
    if (!json_is_array(part)) {
        part = json_array();
        json_object_set_new(object, name, part);
    }
    return part;
}

void tree_freep(json_t **tree) {
    json_decref(*tree);
    *tree = NULL;
}

/* What a list, an object or another value takes in memory: a text of "[],[],[]" is a tree 50 times
 * as large. */
enum { LIST_BYTES = 256, VALUE_BYTES = 64 };

size_t tree_memory(const char *text, size_t size) {
    size_t bytes = size;
    bool is_quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (is_quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            is_quoted = !is_quoted;
        } else if (!is_quoted) {
            bytes += c == '[' || c == '{' ? LIST_BYTES : c == ',' ? VALUE_BYTES : 0;
        }
    }
    return bytes;
}

int tree_check_memory(const char *text, size_t size, size_t memory_max, struct error *err) {
    bool is_small = size <= memory_max / LIST_BYTES; /* whatever it is made of */
    size_t bytes = is_small ? 0 : tree_memory(text, size);
    return bytes <= memory_max ? 0
                               : error_set(err, ERROR_INVALID,
                                           "its lists, objects and values take %zu MiB of memory, "
                                           "at most %zu are allowed",
                                           bytes >> 20, memory_max >> 20);
}

int tree_parse(const char *text, size_t size, size_t bytes_max, json_t **ret_tree,
               struct error *err) {
    if (size > bytes_max) {
        return error_set(err, ERROR_INVALID, "%zu bytes of JSON, at most %zu are allowed", size,
                         bytes_max);
    }
    if (tree_check_memory(text, size, TREE_MEMORY_MAX, err) < 0) {
        return -1;
    }
    json_error_t problem;
    json_t *tree = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    if (!tree) {
        return error_set(err, ERROR_INVALID, "not JSON: line %d: %s", problem.line, problem.text);
    }
    *ret_tree = tree;
    return 0;
}

bool tree_has_text(const json_t *list, const char *text) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0) {
            return true;
        }
    }
    return false;
}

bool tree_mentions(const json_t *tree, const char *part) {
    const char *name;
    json_t *child;
    json_object_foreach((json_t *)tree, name, child) {
        if (tree_mentions(child, part)) {
            return true;
        }
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        if (tree_mentions(json_array_get(tree, i), part)) {
            return true;
        }
    }
    return json_is_string(tree) && strstr(json_string_value(tree), part);
}
