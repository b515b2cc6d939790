/* told_lines.h: the lines that an input kind lists, as JSON. */
#pragma once

#include "agent/data/input/input.h"
#include "lib/tree.h"

#include <stdio.h>

struct told {
    json_t *lines; /* the caller's list */
    size_t stop;   /* after this many lines the listing is cancelled */
    char cursor[4096];
};

static inline int told_line(void *context, const char *line, size_t size, const char *cursor,
                            struct error *err) {
    struct told *told = context;
    json_t *tree = NULL;
    if (json_array_size(told->lines) == told->stop) {
        return error_set(err, ERROR_CANCELLED, "stopped");
    }
    if (tree_parse(line, size, size, &tree, err) < 0) {
        return -1;
    }
    json_array_append_new(told->lines, tree);
    snprintf(told->cursor, sizeof told->cursor, "%s", cursor);
    return 0;
}

/* Lists from the line after that cursor; "" and NULL as in struct input_listing. */
static inline int told_list(const struct input_kind *kind, const json_t *spec, const char *after,
                            struct told *told, struct error *err) {
    struct input_listing listing = {.spec = spec, .after = after};
    return kind->list(&listing, told_line, told, err);
}
