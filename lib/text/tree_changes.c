// SPDX-License-Identifier: Apache-2.0
#include "lib/text/tree_changes.h"

#include "lib/text/utf8.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL_BYTES = 24, VALUE_BYTES = 40 }; /* "; and 1000 more"; of a value */

void tree_changes_init(struct tree_changes *changes, char *text, size_t room) {
    *changes = (struct tree_changes){.text = text, .room = room};
    *text = 0;
}

void tree_changes_add(struct tree_changes *changes, const char *change) {
    const char *gap = changes->size ? "; " : "";
    changes->count++;
    if (changes->omitted || changes->size + strlen(change) + 2 >= changes->room - TAIL_BYTES) {
        changes->omitted++;
        return;
    }
    changes->size += (size_t)snprintf(changes->text + changes->size, changes->room - changes->size,
                                      "%s%s", gap, change);
}

static char *shorten(const json_t *value) {
    AUTO(text_freep)
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : x_strdup("absent");
    size_t length = strlen(text);
    if (length <= VALUE_BYTES) {
        return TAKE(text);
    }
    return x_printf("%.*s...", (int)utf8_valid_size(text, VALUE_BYTES), text);
}

static void compare_members(struct tree_changes *changes, const char *path, const json_t *then,
                            const json_t *now) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)then, key, value) {
        AUTO(text_freep) char *field = x_printf("%s.%s", path, key);
        tree_changes_compare(changes, field, value, json_object_get(now, key));
    }
    json_object_foreach((json_t *)now, key, value) {
        AUTO(text_freep) char *field = x_printf("%s.%s", path, key);
        if (!json_object_get(then, key)) {
            tree_changes_compare(changes, field, NULL, value);
        }
    }
}

void tree_changes_compare(struct tree_changes *changes, const char *path, const json_t *then,
                          const json_t *now) {
    if ((!then && !now) || json_equal(then, now)) {
        return;
    }
    if (json_is_object(then) && json_is_object(now)) {
        compare_members(changes, path, then, now);
        return;
    }
    AUTO(text_freep) char *before = shorten(then);
    AUTO(text_freep) char *after = shorten(now);
    AUTO(text_freep) char *change = x_printf("%.100s: was %s, is %s", path, before, after);
    tree_changes_add(changes, change);
}

void tree_changes_finish(struct tree_changes *changes) {
    if (changes->omitted) {
        snprintf(changes->text + changes->size, changes->room - changes->size, "%s%d more",
                 changes->size ? "; and " : "", changes->omitted);
    }
}
