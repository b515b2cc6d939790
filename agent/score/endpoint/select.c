// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/select.h"

#include <stdlib.h>
#include <string.h>

enum { POINTER_MAX = 1024, TEXT_BYTES_MAX = 32 << 20 };

/* The part of a pointer up to the next slash, without ~0 and ~1. */
static const char *next_part(const char *at, char part[static POINTER_MAX]) {
    size_t size = 0;
    for (; *at && *at != '/' && *at != '#' && size + 1 < POINTER_MAX; at++) {
        bool is_escape = *at == '~' && (at[1] == '0' || at[1] == '1');
        part[size++] = is_escape ? (at[1] == '0' ? '~' : '/') : *at;
        at += is_escape;
    }
    part[size] = 0;
    return at;
}

static const json_t *step(const json_t *tree, const char *part) {
    char *end;
    size_t index = strtoul(part, &end, 10);
    return json_is_array(tree) ? (*part && !*end ? json_array_get(tree, index) : NULL)
                               : json_object_get(tree, part);
}

int select_value(const json_t *tree, const char *pointer, json_t **ret_value, struct error *err) {
    AUTO(tree_freep) json_t *inner = NULL;
    char part[POINTER_MAX];
    const char *at = pointer;
    while (*at) {
        if (*at == '#') {
            struct error why = {0};
            const char *text = json_string_value(tree);
            json_t *parsed = NULL;
            if (text &&
                tree_check_memory(text, json_string_length(tree), SELECT_MEMORY_MAX, err) < 0) {
                return error_context(err, "what is at %.*s", (int)(at - pointer), pointer);
            }
            if (!text ||
                tree_parse(text, json_string_length(tree), TEXT_BYTES_MAX, &parsed, &why) < 0) {
                return error_set(err, ERROR_INVALID, "what is at %.*s is not JSON: %.100s",
                                 (int)(at - pointer), pointer, text ? text : "no text");
            }
            tree_freep(&inner);
            tree = inner = parsed;
            at++;
            continue;
        }
        at = next_part(at + (*at == '/'), part);
        tree = step(tree, part);
        if (!tree) {
            return error_set(err, ERROR_INVALID, "the answer has nothing at %.*s",
                             (int)(at - pointer), pointer);
        }
    }
    *ret_value = json_incref((json_t *)(uintptr_t)tree);
    return 0;
}

int select_values(const json_t *tree, const json_t *pointers, json_t **ret_object,
                  struct error *err) {
    AUTO(tree_freep) json_t *object = json_object();
    const char *name;
    json_t *pointer;
    json_object_foreach((json_t *)(uintptr_t)pointers, name, pointer) {
        json_t *value = NULL;
        if (select_value(tree, json_string_value(pointer), &value, err) < 0) {
            return -1;
        }
        json_object_set_new(object, name, value);
    }
    *ret_object = TAKE(object);
    return 0;
}
