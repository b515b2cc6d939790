// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/list_merge.h"

#include "agent/data/input/fingerprint.h"

#include <stdlib.h>
#include <string.h>

bool list_results_has(const struct list_results *results, int64_t scored) {
    return scored >= 0 && scored < results->count &&
           (results->bits[scored / 8] >> (scored % 8) & 1) != 0;
}

int list_base_has(const struct list_base *base, const struct list_reader *line, bool *ret_has,
                  struct error *err) {
    *ret_has = line->flag == LIST_KEPT || list_results_has(&base->results, line->scored);
    return *ret_has && base->is_there && line->name
               ? base->is_there(base->context, line->name, ret_has, err)
               : 0;
}

void list_merge_init(struct list_merge *merge, struct store *store, const char *run,
                     const struct list_base *base, const char *last) {
    *merge = (struct list_merge){.base = base, .last = x_strdup(last)};
    list_reader_init(&merge->reader, store, run, base->folder);
}

void list_merge_release(struct list_merge *merge) {
    list_reader_release(&merge->reader);
    free(TAKE(merge->last));
}

/* The next line of the earlier list that has a name. */
static int advance(struct list_merge *merge, struct error *err) {
    do {
        int found = list_reader_next(&merge->reader, err);
        if (found < 0) {
            return -1;
        }
        merge->has_line = found > 0;
        merge->is_over = found == 0;
    } while (merge->has_line && !merge->reader.name);
    return 0;
}

static void count_removed(struct list_merge *merge) {
    merge->removed += !merge->last || strcmp(merge->reader.name, merge->last) > 0;
}

/* Until the earlier list is at this name, or behind it; NULL: to its end. */
static int find(struct list_merge *merge, const char *name, struct error *err) {
    if (!merge->has_line && !merge->is_over && advance(merge, err) < 0) {
        return -1;
    }
    while (merge->has_line && (!name || strcmp(merge->reader.name, name) < 0)) {
        count_removed(merge);
        if (advance(merge, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int compare(const struct list_merge *merge, const char *print, size_t size,
                   enum list_flag *ret_flag, struct error *err) {
    const struct list_reader *old = &merge->reader;
    bool is_same = fingerprint_is_known(print, size) && old->print_size == size &&
                   memcmp(old->print, print, size) == 0;
    bool is_there = false;
    if (list_base_has(merge->base, old, &is_there, err) < 0) {
        return -1;
    }
    *ret_flag = !is_there ? LIST_AGAIN : is_same ? LIST_KEPT : LIST_CHANGED;
    return 0;
}

int list_merge_line(struct list_merge *merge, const char *line, size_t size,
                    enum list_flag *ret_flag, struct error *err) {
    const char *tab = memchr(line, '\t', size);
    const char *print = tab ? tab + 1 : "";
    size_t json_size = tab ? (size_t)(tab - line) : size;
    AUTO(tree_freep) json_t *tree = json_loadb(line, json_size, JSON_DECODE_ANY, NULL);
    const char *name = json_string_value(tree);
    if (!name) { /* it cannot be scored: it fails again, or for the first time */
        *ret_flag = LIST_AGAIN;
        return 0;
    }
    if (find(merge, name, err) < 0) {
        return -1;
    }
    *ret_flag = LIST_NEW;
    if (merge->has_line && strcmp(merge->reader.name, name) == 0) {
        return compare(merge, print, tab ? size - json_size - 1 : 0, ret_flag, err) < 0
                   ? -1
                   : advance(merge, err);
    }
    return 0;
}

int list_merge_finish(struct list_merge *merge, struct error *err) {
    return find(merge, NULL, err);
}
