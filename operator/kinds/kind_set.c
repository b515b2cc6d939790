// SPDX-License-Identifier: Apache-2.0
/* The kinds as arguments of a control loop: on a cluster all, on this machine the one that runs. */
#include "operator/kinds/kinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SET_MAX = 16 };

struct kind_set {
    struct kind kinds[SET_MAX];
    const struct kind *list[SET_MAX + 1];
    struct maker_options makers[SET_MAX];
    struct schema *schemas[SET_MAX];
    size_t count;
};

/* The definition of a kind that was added. */
static const struct schema *schema_of(const struct kind_set *set, const char *kind) {
    size_t at = 0;
    while (at < set->count && strcmp(set->kinds[at].name, kind) != 0) {
        at++;
    }
    assert(at < set->count); /* a kind comes after the one that it makes (kind.h) */
    return set->schemas[at];
}

static int add(struct kind_set *set, const struct kind_row *row, const struct job_options *jobs,
               bool is_local, struct error *err) {
    assert(set->count < SET_MAX);
    size_t at = set->count;
    if (kinds_schema(row, &set->schemas[at], err) < 0) {
        return -1;
    }
    set->count++;
    set->kinds[at] = *row->loop;
    set->list[at] = &set->kinds[at];
    set->kinds[at].options = jobs;
    set->kinds[at].schema = set->schemas[at];
    if (row->children) {
        /* On this machine a pod's image is ignored. */
        set->makers[at] = (struct maker_options){.made = schema_of(set, row->children->kind),
                                                 .jobs = is_local ? NULL : jobs};
        set->kinds[at].options = &set->makers[at];
    }
    return 0;
}

int kind_set_new(const struct kind_row *only, const struct job_options *jobs,
                 struct kind_set **ret_set, struct error *err) {
    struct kind_set *set = x_calloc(1, sizeof *set);
    int result = 0;
    if (only &&
        only->children) { /* the kind that it makes comes first: it is watched as that kind */
        result = add(set, kinds_find(only->children->kind), jobs, true, err);
    }
    if (only && result == 0) {
        result = add(set, only, jobs, true, err);
    }
    for (const struct kind_row *const *row = kind_rows; !only && *row && result == 0; row++) {
        result = add(set, *row, jobs, false, err);
    }
    if (result < 0) {
        kind_set_free(set);
        return -1;
    }
    *ret_set = set;
    return 0;
}

void kind_set_free(struct kind_set *set) {
    for (size_t i = 0; set && i < set->count; i++) {
        schema_free(set->schemas[i]);
    }
    free(set);
}

const struct kind *const *kind_set_kinds(const struct kind_set *set) {
    return set->list;
}
