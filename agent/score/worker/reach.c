// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/reach.h"

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

struct reach {
    struct groups *groups;
    struct feeds *feeds;
    struct row *rows; /* ROWS_MAX */
    size_t count, most, text_bytes;
    size_t made, made_bytes; /* results of the sorted rows so far */
};

struct reach *reach_new(struct groups *groups, struct feeds *feeds) {
    struct reach *reach = x_calloc(1, sizeof *reach);
    *reach = (struct reach){.groups = groups,
                            .feeds = feeds,
                            .rows = x_calloc(ROWS_MAX, sizeof *reach->rows),
                            .most = FIRST_ROWS};
    return reach;
}

void reach_drop(struct reach *reach) {
    for (size_t i = 0; i < reach->count; i++) {
        struct row *row = &reach->rows[i];
        free(row->name);
        free(row->text);
        free(row->head);
        post_result_release(&row->made);
        *row = (struct row){.name = NULL};
    }
    reach->count = reach->text_bytes = reach->made = reach->made_bytes = 0;
}

void reach_free(struct reach *reach) {
    if (reach) {
        reach_drop(reach);
        free(reach->rows);
        free(reach);
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
    struct reach *reach = context;
    struct row *row = &reach->rows[reach->made++];
    (void)err;
    row->made = *made;
    *made = (struct post_result){.picture = {0}};
    row->made.result.name = row->name;
    row->made.result.head = row->head;
    reach->made_bytes += row->made.result.json_size;
    return 0;
}

static int write(struct reach *reach, struct sink *sink, struct error *err) {
    for (size_t i = 0; i < reach->count; i++) {
        if (sink_add(sink, &reach->rows[i].made.result, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int score(struct reach *reach, struct error *err) {
    const struct groups_target target = {.add = keep, .context = reach};
    qsort(reach->rows, reach->count, sizeof *reach->rows, by_tokens);
    for (size_t i = 0; i < reach->count; i++) {
        const struct row *row = &reach->rows[i];
        const struct item item = {.type = ITEM_JSON,
                                  .name = row->name,
                                  .row = row->row,
                                  .text = row->text,
                                  .text_size = row->text_size};
        if (feeds_take(reach->feeds, &item, err) < 0) {
            return error_context(err, "%s", row->name);
        }
        if (groups_add(reach->groups, &target, &item, row->head, err) < 0) {
            return -1;
        }
    }
    return groups_finish(reach->groups, &target, err);
}

int reach_finish(struct reach *reach, struct sink *sink, struct error *err) {
    if (reach->count == 0) {
        return 0;
    }
    if (score(reach, err) < 0) {
        return -1;
    }
    qsort(reach->rows, reach->count, sizeof *reach->rows, by_place);
    if (write(reach, sink, err) < 0) {
        return -1;
    }
    size_t each = reach->made_bytes / reach->count + 1;
    reach->most = MIN(MAX(RESULT_BYTES / each, 1), ROWS_MAX);
    reach_drop(reach);
    return 0;
}

int reach_add(struct reach *reach, struct sink *sink, const struct item *item, const char *head,
              struct error *err) {
    reach->rows[reach->count] = (struct row){.name = x_strdup(item->name),
                                             .text = x_strndup(item->text, item->text_size),
                                             .head = head ? x_strdup(head) : NULL,
                                             .text_size = item->text_size,
                                             .row = item->row,
                                             .tokens = (size_t)feeds_span(reach->feeds).count,
                                             .place = reach->count};
    reach->count++;
    reach->text_bytes += item->text_size;
    return reach->count >= reach->most || reach->text_bytes >= TEXT_BYTES
               ? reach_finish(reach, sink, err)
               : 0;
}
