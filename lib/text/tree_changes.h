/* tree_changes.h: how two trees of JSON differ, as a line for people: each field by its path, then
 * and now. Pure. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

/* A growing line in the caller's room. */
struct tree_changes {
    char *text; /* NUL-terminated */
    size_t room, size;
    int count, omitted; /* of all changes; of those that had no room */
};

/* text: of `room` bytes, at least 64; becomes "". */
void tree_changes_init(struct tree_changes *changes, char *text, size_t room);
/* Adds one change, as it is. */
void tree_changes_add(struct tree_changes *changes, const char *change);
/* Adds "path.FIELD: was 8, is 16" for each field that differs; NULL: absent. Arrays count as one
 * value. */
void tree_changes_compare(struct tree_changes *changes, const char *path, const json_t *then,
                          const json_t *now);
/* Says how many had no room. */
void tree_changes_finish(struct tree_changes *changes);
