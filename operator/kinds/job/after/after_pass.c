// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/after_pass.h"

#include "operator/kinds/job/after/after.h"
#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/parameters/parameters.h"

static bool is_same(const json_t *a, const json_t *b) {
    static const char *const fields[] = {"kind", "metadata.name"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!json_equal(tree_get(a, fields[i]), tree_get(b, fields[i]))) {
            return false;
        }
    }
    return true;
}

static void add_new(json_t *list, json_t *found) {
    for (size_t i = 0; i < json_array_size(found); i++) {
        json_t *one = json_array_get(found, i);
        size_t k = 0;
        while (k < json_array_size(list) && !is_same(json_array_get(list, k), one)) {
            k++;
        }
        if (k == json_array_size(list) && k < AFTER_SEEN_MAX) {
            json_array_append(list, one);
        }
    }
}

/* Adds the jobs that this one names. */
static void add_named(struct reconcile *request, const json_t *object, bool waits, json_t *list) {
    const json_t *entries = tree_get(object, "spec.after");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        AUTO(tree_freep)
        json_t *found = reconcile_named(request, tree_text(entry, "kind", NULL),
                                        tree_text(entry, "name", ""), waits);
        add_new(list, found);
    }
}

/* It is woken by those that it names itself; the others are for circles. */
static json_t *gather(struct reconcile *request) {
    json_t *list = json_array();
    add_named(request, request->object, true, list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        add_named(request, json_array_get(list, i), false, list);
    }
    return list;
}

void after_pass_begin(struct after_pass *pass, struct reconcile *request) {
    *pass = (struct after_pass){.given = request->object};
    if (!request->object || tree_get(request->object, "metadata.deletionTimestamp")) {
        return;
    }
    pass->filled = parameters_fill(request->object);
    request->object = pass->filled ? pass->filled : pass->given;
    if (after_is_open(request->object)) {
        pass->others = gather(request);
        return;
    }
    json_t *filled = after_reference_fill(request->object);
    if (filled) {
        json_decref(pass->filled);
        pass->filled = filled;
        request->object = filled;
    }
}

void after_pass_end(struct after_pass *pass, struct reconcile *request) {
    request->object = pass->given;
    json_decref(TAKE(pass->filled));
    json_decref(TAKE(pass->others));
}
