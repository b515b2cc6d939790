// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/length_sort.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_ROWS = 128,        /* until the size of a result is known */
    ROWS_MAX = 4096,         /* rows that wait ... */
    TEXT_BYTES = 32 << 20,   /* ... their texts ... */
    RESULT_BYTES = 64 << 20, /* ... and about their results, as text */
};

struct row {
    char *name, *text, *head;
    size_t text_size;
    int64_t row;
    size_t tokens, place; /* place: in the order of the rows */
    struct post_result made;
};

struct length_sort {
    struct groups *groups;
    struct feeds *feeds;
    struct row *rows; /* ROWS_MAX */
    size_t count, most, text_bytes;
    size_t made, made_bytes; /* results of the sorted rows so far */
};

struct length_sort *length_sort_new(struct groups *groups, struct feeds *feeds) {
    struct length_sort *sort = x_calloc(1, sizeof *sort);
    *sort = (struct length_sort){.groups = groups,
                                 .feeds = feeds,
                                 .rows = x_calloc(ROWS_MAX, sizeof *sort->rows),
                                 .most = FIRST_ROWS};
    return sort;
}

void length_sort_drop(struct length_sort *sort) {
    for (size_t i = 0; i < sort->count; i++) {
        struct row *row = &sort->rows[i];
        free(row->name);
        free(row->text);
        free(row->head);
        post_result_release(&row->made);
        *row = (struct row){.name = NULL};
    }
    sort->count = sort->text_bytes = sort->made = sort->made_bytes = 0;
}

void length_sort_free(struct length_sort *sort) {
    if (sort) {
        length_sort_drop(sort);
        free(sort->rows);
        free(sort);
    }
}

/* The longest first: shorter ones fit into its run. */
static int by_tokens(const void *a, const void *b) {
    const struct row *one = a, *other = b;
    return one->tokens != other->tokens ? (one->tokens < other->tokens ? 1 : -1)
                                        : (one->place > other->place) - (one->place < other->place);
}

static int by_place(const void *a, const void *b) {
    const struct row *one = a, *other = b;
    return (one->place > other->place) - (one->place < other->place);
}

/* The result of the next of the sorted rows. */
static int keep(void *context, struct post_result *made, struct error *err) {
    struct length_sort *sort = context;
    struct row *row = &sort->rows[sort->made++];
    (void)err;
    row->made = *made;
    *made = (struct post_result){.picture = {0}};
    row->made.result.name = row->name;
    row->made.result.head = row->head;
    sort->made_bytes += row->made.result.json_size;
    return 0;
}

static int write(struct length_sort *sort, struct sink *sink, struct error *err) {
    for (size_t i = 0; i < sort->count; i++) {
        if (sink_add(sink, &sort->rows[i].made.result, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int score(struct length_sort *sort, struct error *err) {
    const struct groups_target target = {.add = keep, .context = sort};
    qsort(sort->rows, sort->count, sizeof *sort->rows, by_tokens);
    for (size_t i = 0; i < sort->count; i++) {
        const struct row *row = &sort->rows[i];
        const struct item item = {.type = ITEM_JSON,
                                  .name = row->name,
                                  .row = row->row,
                                  .text = row->text,
                                  .text_size = row->text_size};
        if (feeds_take(sort->feeds, &item, err) < 0) {
            return error_context(err, "%s", row->name);
        }
        if (groups_add(sort->groups, &target, &item, row->head, err) < 0) {
            return -1;
        }
    }
    return groups_finish(sort->groups, &target, err);
}

int length_sort_finish(struct length_sort *sort, struct sink *sink, struct error *err) {
    if (sort->count == 0) {
        return 0;
    }
    if (score(sort, err) < 0) {
        return -1;
    }
    qsort(sort->rows, sort->count, sizeof *sort->rows, by_place);
    if (write(sort, sink, err) < 0) {
        return -1;
    }
    size_t each = sort->made_bytes / sort->count + 1;
    sort->most = MIN(MAX(RESULT_BYTES / each, 1), ROWS_MAX);
    length_sort_drop(sort);
    return 0;
}

int length_sort_add(struct length_sort *sort, struct sink *sink, const struct item *item,
                    const char *head, struct error *err) {
    sort->rows[sort->count] = (struct row){.name = x_strdup(item->name),
                                           .text = x_strndup(item->text, item->text_size),
                                           .head = head ? x_strdup(head) : NULL,
                                           .text_size = item->text_size,
                                           .row = item->row,
                                           .tokens = (size_t)feeds_span(sort->feeds).count,
                                           .place = sort->count};
    sort->count++;
    sort->text_bytes += item->text_size;
    return sort->count >= sort->most || sort->text_bytes >= TEXT_BYTES
               ? length_sort_finish(sort, sink, err)
               : 0;
}
