// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/refusals.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAKEN_MS = 5000,       /* our own objects may be missing from the cache for this long */
    REFUSED_MIN_MS = 1000, /* the pause of creations after a refusal, doubling */
    REFUSED_MAX_MS = 60000,
    AGAIN_MIN_MS = 1000, /* the pause of one object's writes after a failure, doubling */
    AGAIN_MAX_MS = 60000,
    DOUBLINGS_MAX = 10,
};

static void release(struct refusal *entry) {
    object_key_release(&entry->object);
    free(entry->text);
}

void refusals_release(struct refusals *record) {
    for (size_t i = 0; i < record->count; i++) {
        release(&record->at[i]);
    }
    free(record->at);
    *record = (struct refusals){0};
}

void refusals_begin(struct refusals *record, int64_t generation) {
    if (record->generation != generation) {
        refusals_release(record);
        record->generation = generation;
    }
}

static size_t find(const struct refusals *record, struct object_key object, enum refusal_of of) {
    size_t at = 0;
    while (at < record->count &&
           (record->at[at].of != of || !object_key_equal(record->at[at].object, object))) {
        at++;
    }
    return at;
}

static void drop(struct refusals *record, size_t at) {
    if (at < record->count) {
        release(&record->at[at]);
        record->count--;
        memmove(record->at + at, record->at + at + 1, (record->count - at) * sizeof *record->at);
    }
}

/* After `failures` in a row, at least 1; three quarters of it to five quarters, so that objects
 * that failed together are not asked for together. */
static int64_t pause_ms(int failures, int64_t min_ms, int64_t max_ms) {
    int64_t even_ms = MIN(min_ms << MIN(failures - 1, DOUBLINGS_MAX), max_ms);
    return even_ms - even_ms / 4 + arc4random_uniform((uint32_t)even_ms / 2 + 1);
}

static void note(struct refusals *record, enum refusal_of of, const struct written *written) {
    struct object_key key = object_key_of(written->object);
    const struct error *err = written->err;
    size_t at = find(record, key, of);
    if (!err) {
        drop(record, at);
        return;
    }
    int64_t now_ms = clock_monotonic_ms();
    if (at == record->count) {
        record->at = x_realloc_array(record->at, ++record->count, sizeof *record->at);
        record->at[at] =
            (struct refusal){.object = object_key_copy(key), .of = of, .since_ms = now_ms};
    }
    struct refusal *entry = &record->at[at];
    entry->kind = err->kind;
    entry->failures++;
    entry->not_before_ms = now_ms + pause_ms(entry->failures, AGAIN_MIN_MS, AGAIN_MAX_MS);
    free(entry->text);
    entry->text = x_strdup(err->text);
}

/* A quota refuses objects until others are deleted, and each try costs the cluster. */
static void note_refusal(struct refusals *record, const struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < record->paused_until_ms) {
        return; /* refused in the same pass */
    }
    if (!err) {
        record->denied = 0;
        record->paused_until_ms = 0;
    } else if (err->kind == ERROR_DENIED) {
        record->denied++;
        int64_t refused_ms =
            MIN((int64_t)REFUSED_MIN_MS << MIN(record->denied - 1, DOUBLINGS_MAX), REFUSED_MAX_MS);
        record->paused_until_ms =
            now_ms + refused_ms / 2 + arc4random_uniform((uint32_t)refused_ms / 2 + 1);
    }
}

void refusals_note(struct refusals *record, const struct written *written) {
    note(record, written->verb == CLUSTER_DELETE ? REFUSAL_OF_DELETION : REFUSAL_OF_CREATION,
         written);
    if (written->verb == CLUSTER_CREATE) {
        note_refusal(record, written->err);
    }
}

void refusals_note_change(struct refusals *record, const struct written *written) {
    note(record, REFUSAL_OF_CHANGE, written);
}

int64_t refusals_left_ms(const struct refusals *record, const json_t *object, enum refusal_of of,
                         int64_t now_ms) {
    size_t at = find(record, object_key_of(object), of);
    int64_t left_ms = at < record->count ? record->at[at].not_before_ms - now_ms : 0;
    return MAX(left_ms, 0);
}

/* The name is taken: by our own object (its event is not here yet; then false), by an object of an
 * earlier job, or by a foreign object, which the cache has only if it carries our label. */
static bool is_taken(const struct reconcile *request, const struct refusal *entry,
                     enum write_failure_why *ret_why) {
    AUTO(tree_freep)
    json_t *there =
        cache_find(request->cache, entry->object.kind, request->namespace, entry->object.name);
    *ret_why = WRITE_FAILURE_TAKEN;
    if (!there) {
        return request->monotonic_ms - entry->since_ms >= TAKEN_MS;
    }
    if (object_is_owned_by(there, tree_text(request->object, "metadata.uid", ""))) {
        return false;
    }
    const char *job = owned_label(there, LABEL_JOB);
    bool earlier =
        strcmp(tree_text(there, "metadata.ownerReferences[0].kind", ""), request->kind) == 0 &&
        job && strcmp(job, request->name) == 0;
    if (earlier || tree_get(there, "metadata.deletionTimestamp")) {
        *ret_why = WRITE_FAILURE_LEAVING;
    }
    return true;
}

/* False: the cluster has a problem, not the object. */
static bool is_of_object(const struct reconcile *request, const struct refusal *entry,
                         enum write_failure_why *ret_why) {
    switch (entry->kind) {
    case ERROR_CONFLICT:
        return is_taken(request, entry, ret_why);
    case ERROR_DENIED:
        *ret_why = WRITE_FAILURE_DENIED;
        return true;
    case ERROR_NOT_FOUND:
        *ret_why = WRITE_FAILURE_MISSING;
        return true;
    case ERROR_INVALID:
    case ERROR_UNSUPPORTED:
        *ret_why = WRITE_FAILURE_REFUSED;
        return true;
    default:
        return false;
    }
}

/* A conflict of a change, for example, says that the object has changed or is gone. */
static bool is_for_plans(const struct refusal *entry) {
    return entry->of == REFUSAL_OF_CREATION ||
           (entry->of == REFUSAL_OF_CHANGE &&
            (entry->kind == ERROR_DENIED || entry->kind == ERROR_INVALID ||
             entry->kind == ERROR_UNSUPPORTED));
}

struct write_failures refusals_of(const struct reconcile *request, const struct refusals *record) {
    struct write_failures told = {.at = x_calloc(record->count + 1, sizeof *told.at)};
    for (size_t i = 0; i < record->count; i++) {
        const struct refusal *entry = &record->at[i];
        enum write_failure_why why;
        if (is_for_plans(entry) && is_of_object(request, entry, &why)) {
            told.at[told.count++] = (struct write_failure){
                entry->object, entry->of == REFUSAL_OF_CHANGE, why, entry->text};
        }
    }
    return told;
}
