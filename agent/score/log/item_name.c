// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/item_name.h"

#include <stdlib.h>
#include <string.h>

struct item_names {
    const json_t *spec;
    const struct input_kind *kind;
    struct list *list;
    struct input_reader *reader;
    json_t *lines; /* the one line that is being read; NULL: none */
    int64_t line;  /* its number ... */
    int64_t first; /* ... when counted from this first line */
    int64_t next;  /* the item, counted from `first`, that the reader returns next */
    /* It does not: `lines` has line `first`. This is not tried again, since thousands of items may
     * have failed. */
    bool is_lost;
};

struct item_names *item_names_new(const json_t *spec, const struct input_kind *kind,
                                  struct list *list) {
    struct item_names *names = x_calloc(1, sizeof *names);
    *names = (struct item_names){.spec = spec, .kind = kind, .list = list};
    return names;
}

static void forget(struct item_names *names) {
    names->kind->reader_free(TAKE(names->reader));
    json_decref(TAKE(names->lines));
    names->is_lost = false;
}

void item_names_free(struct item_names *names) {
    if (names) {
        forget(names);
        free(names);
    }
}

static int fetch_line(struct item_names *names, int64_t line, json_t **ret_lines,
                      struct error *err) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, INPUT_LINE_MAX + 2);
    if (list_lines(names->list, line, 1, &text, err) < 0) {
        return -1;
    }
    return tree_parse(text.data ? text.data : "", text.size, INPUT_LINE_MAX + 2, ret_lines, err);
}

/* The reader stays open: the next line is probably of the same file. */
static int open_line(struct item_names *names, int64_t line, struct error *err) {
    json_t *lines = NULL;
    if (fetch_line(names, line, &lines, err) < 0) {
        return -1;
    }
    int result = names->kind->reader_open(names->spec, lines, &names->reader, err);
    json_decref(names->lines);
    names->lines = lines;
    names->line = line;
    return result;
}

static int find(struct item_names *names, int64_t first, int64_t index, struct item *ret_item,
                struct error *err) {
    if (!names->lines || names->first != first || index < names->next) {
        names->first = first;
        names->next = 0;
        names->is_lost = false;
        if (open_line(names, first, err) < 0) {
            return -1;
        }
    }
    for (;;) {
        int got = names->kind->reader_next(names->reader, ret_item, err);
        if (got < 0 || (got == 0 && open_line(names, names->line + 1, err) < 0)) {
            return -1;
        }
        if (got > 0 && names->next++ == index) {
            return 0;
        }
    }
}

/* Names it by the start of its line: [file, byte, ...]; by key (keys.h): {"key", "at": [[file,
 * token, byte, ...], ...]} or {"key", "list"}. */
static int add_place(const json_t *line, int64_t index, struct buffer *name, struct error *err) {
    const json_t *key = json_object_get(line, "key");
    const json_t *at = key ? json_array_get(json_object_get(line, "at"), 0) : line;
    const char *file = json_string_value(json_array_get(at, 0));
    if (key && !file) {
        AUTO(text_freep) char *text = json_dumps(key, JSON_COMPACT | JSON_ENCODE_ANY);
        return buffer_printf(name, err, "%.1000s+%lld", text ? text : "", (long long)index);
    }
    return buffer_printf(name, err, "%s:%lld+%lld", file ? file : "",
                         (long long)json_integer_value(json_array_get(at, key ? 2 : 1)),
                         (long long)index);
}

int item_names_add(struct item_names *names, int64_t first, int64_t index, struct buffer *name,
                   struct error *err) {
    struct item item = {0};
    struct error ignored = {0};
    bool is_lost = names->is_lost && names->first == first;
    if (!is_lost && find(names, first, index, &item, &ignored) == 0) {
        return buffer_append(name, item.name, strlen(item.name), err);
    }
    if (!is_lost) {
        forget(names);
        if (fetch_line(names, first, &names->lines, err) < 0) {
            return -1;
        }
        names->first = first;
        names->is_lost = true;
    }
    return add_place(json_array_get(names->lines, 0), index, name, err);
}

int item_names_json(struct item_names *names, int64_t first, int64_t index, struct buffer *json,
                    struct error *err) {
    struct item item = {0};
    struct error ignored = {0};
    return find(names, first, index, &item, &ignored) == 0 && item.type == ITEM_JSON && item.text
               ? buffer_append(json, item.text, item.text_size, err)
               : 0;
}
