// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/after_inquiry.h"

#include "operator/kinds/job/after/after.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 32 }; /* more than spec.after can name: 8 names of 3 kinds */

static void row_release(struct after_inquiry_row *row) {
    json_decref(TAKE(row->seen));
    json_decref(TAKE(row->there));
    *row = (struct after_inquiry_row){0};
}

void after_inquiry_release(struct after_inquiry *inquiry) {
    for (size_t i = 0; i < inquiry->count; i++) {
        row_release(&inquiry->at[i]);
    }
    free(inquiry->at);
    *inquiry = (struct after_inquiry){0};
}

static bool is_of(const struct after_inquiry_row *row, const json_t *job) {
    return json_equal(json_object_get(row->seen, "kind"), json_object_get(job, "kind")) &&
           json_equal(tree_get(row->seen, "metadata.name"), tree_get(job, "metadata.name"));
}

/* The row of that job as the watch shows it now; NULL: there is no room. */
static struct after_inquiry_row *row_of(struct after_inquiry *inquiry, json_t *job) {
    size_t i = 0;
    while (i < inquiry->count && !is_of(&inquiry->at[i], job)) {
        i++;
    }
    if (i == ROWS_MAX) {
        return NULL;
    }
    if (i == inquiry->count) {
        inquiry->at = x_realloc_array(inquiry->at, i + 1, sizeof *inquiry->at);
        inquiry->at[inquiry->count++] = (struct after_inquiry_row){.seen = json_incref(job)};
    }
    struct after_inquiry_row *row = &inquiry->at[i];
    if (!row->is_asked && !json_equal(row->seen, job)) { /* an answer is of an older one */
        row_release(row);
        row->seen = json_incref(job);
    }
    return row;
}

static const char *api_version_of(const struct reconcile *request, const char *name) {
    const struct kind *const *each = request->kinds;
    while (each && *each && strcmp((*each)->name, name) != 0) {
        each++;
    }
    return each && *each ? (*each)->api_version : "";
}

static void ask(struct reconcile *request, struct after_inquiry_row *row) {
    const char *kind = tree_text(row->seen, "kind", "");
    AUTO(tree_freep)
    json_t *like =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", api_version_of(request, kind), "kind",
                  kind, "metadata", "name", tree_text(row->seen, "metadata.name", ""), "namespace",
                  request->namespace);
    row->is_asked = reconcile_find(request, like);
}

/* Neither ended nor running. Owned. */
static json_t *make_unknown(const json_t *job) {
    return json_pack("{s:O, s:{s:O}, s:{s:[{s:s, s:s, s:s}]}}", "kind",
                     json_object_get(job, "kind"), "metadata", "name",
                     tree_get(job, "metadata.name"), "status", "conditions", "type", "Succeeded",
                     "status", "Unknown", "reason", "not known: the API server does not answer");
}

/* Puts what is known now in place of others[*index], or takes it out. False: a question is under
 * way. */
static bool settle_one(struct after_inquiry *inquiry, struct reconcile *request, json_t *others,
                       size_t *index) {
    json_t *job = json_array_get(others, *index);
    struct after_inquiry_row *row = after_has_ended(job) ? row_of(inquiry, job) : NULL;
    if (!row) {
        ++*index;
        return true;
    }
    bool may_ask = !row->is_known && !row->is_asked && retry_delay_is_over(request, &row->delay);
    if (may_ask) {
        ask(request, row);
    }
    if (row->is_asked || may_ask) {
        return false;
    }
    if (row->is_known && !row->there) {
        json_array_remove(others, *index);
        return true;
    }
    json_array_set_new(others, *index, row->is_known ? json_incref(row->there) : make_unknown(job));
    ++*index;
    return true;
}

/* Whether the job would start, or fail, by what the watch shows. */
static bool is_due(const json_t *object, const json_t *others) {
    if (!others || tree_get(object, "spec.stop") || tree_bool(object, "spec.suspend", false)) {
        return false;
    }
    struct after after;
    after_judge(object, others, &after);
    bool is_over = after.state == AFTER_DONE || after.state == AFTER_FAILED;
    after_release(&after);
    return is_over;
}

bool after_inquiry_settle(struct after_inquiry *inquiry, struct reconcile *request,
                          struct after_pass *pass) {
    if (!is_due(request->object, pass->others)) {
        after_inquiry_release(inquiry);
        return true;
    }
    AUTO(tree_freep) json_t *others = json_copy(pass->others);
    for (size_t i = 0; i < json_array_size(others);) {
        if (!after_is_named(request->object, json_array_get(others, i))) {
            i++; /* for circles */
        } else if (!settle_one(inquiry, request, others, &i)) {
            return false;
        }
    }
    json_decref(pass->others);
    pass->others = TAKE(others);
    return true;
}

void after_inquiry_found(struct after_inquiry *inquiry, const struct found *found) {
    for (size_t i = 0; i < inquiry->count; i++) {
        struct after_inquiry_row *row = &inquiry->at[i];
        if (!row->is_asked || !is_of(row, found->like)) {
            continue;
        }
        row->is_asked = false;
        if (found->err) {
            retry_delay_note(&row->delay);
        } else {
            row->is_known = true;
            row->there = json_incref((json_t *)found->object);
        }
    }
}
