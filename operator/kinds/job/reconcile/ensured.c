// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/ensured.h"

#include "lib/time/clock.h"
#include "operator/control/claim.h"

#include <stdlib.h>

enum { KNOWN_MS = 60000 };

void ensured_release(struct ensured_objects *list) {
    for (size_t i = 0; i < list->count; i++) {
        object_key_release(&list->at[i].object);
    }
    free(list->at);
    *list = (struct ensured_objects){0};
}

static struct ensured_object *find(const struct ensured_objects *list, struct object_key key) {
    for (size_t i = 0; i < list->count; i++) {
        if (object_key_equal(list->at[i].object, key)) {
            return &list->at[i];
        }
    }
    return NULL;
}

void ensured_want_all(struct ensured_objects *list, const json_t *objects) {
    for (size_t i = 0; i < json_array_size(objects); i++) {
        const json_t *object = json_array_get(objects, i);
        struct object_key key = object_key_of(object);
        if (tree_get(object, "metadata.uid") || find(list, key)) {
            continue;
        }
        list->at = x_realloc_array(list->at, list->count + 1, sizeof *list->at);
        list->at[list->count++] = (struct ensured_object){.object = object_key_copy(key)};
    }
}

void ensured_note(struct ensured_objects *list, const json_t *object) {
    struct ensured_object *row = find(list, object_key_of(object));
    if (row) {
        row->is_there = true;
        row->since_ms = clock_monotonic_ms();
    }
}

void ensured_forget(struct ensured_objects *list, int64_t now_ms) {
    for (size_t i = 0; i < list->count; i++) {
        list->at[i].is_there &= now_ms - list->at[i].since_ms < KNOWN_MS;
    }
}

/* True: the row is dropped. */
static bool take(struct reconcile *request, struct ensured_objects *list, struct refusals *record,
                 struct refusal *row) {
    if (row->of != REFUSAL_OF_CREATION || !row->is_known || !row->there ||
        !find(list, row->object) ||
        claim_judge(row->there, row->wanted, request->object) != CLAIM_OURS) {
        return false;
    }
    AUTO(tree_freep) json_t *there = TAKE(row->there);
    json_t *change = claim_correction(there, row->wanted);
    row->holder = CLAIM_OURS;
    if (change) {
        reconcile_write(request, CLUSTER_MERGE, change);
        return false;
    }
    ensured_note(list, there);
    refusals_settle(record, there);
    return true;
}

void ensured_settle(struct reconcile *request, struct ensured_objects *list,
                    struct refusals *record) {
    for (size_t i = 0; i < record->count;) {
        i += !take(request, list, record, &record->at[i]);
    }
}
