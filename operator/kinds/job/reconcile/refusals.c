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

static size_t find(const struct refusals *record, struct object_key object, bool is_change) {
    size_t at = 0;
    while (at < record->count && (record->at[at].is_change != is_change ||
                                  !object_key_equal(record->at[at].object, object))) {
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

static void note(struct refusals *record, bool is_change, const json_t *object,
                 const struct error *err) {
    struct object_key key = object_key_of(object);
    size_t at = find(record, key, is_change);
    if (!err) {
        drop(record, at);
        return;
    }
    if (at == record->count) {
        record->at = x_realloc_array(record->at, ++record->count, sizeof *record->at);
        record->at[at] = (struct refusal){.object = object_key_copy(key),
                                          .is_change = is_change,
                                          .since_ms = clock_monotonic_ms()};
    }
    struct refusal *entry = &record->at[at];
    entry->kind = err->kind;
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
        int64_t pause_ms = MIN((int64_t)REFUSED_MIN_MS << MIN(record->denied, 10), REFUSED_MAX_MS);
        pause_ms = pause_ms / 2 + arc4random_uniform((uint32_t)pause_ms / 2 + 1);
        record->denied++;
        record->paused_until_ms = now_ms + pause_ms;
    }
}

void refusals_note(struct refusals *record, const struct written *written) {
    note(record, false, written->object, written->err);
    if (written->verb == CLUSTER_CREATE) {
        note_refusal(record, written->err);
    }
}

void refusals_note_change(struct refusals *record, const struct written *written) {
    const struct error *err = written->err;
    bool is_refused = err && (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID ||
                              err->kind == ERROR_UNSUPPORTED);
    note(record, true, written->object, is_refused ? err : NULL);
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

struct write_failures refusals_of(const struct reconcile *request, const struct refusals *record) {
    struct write_failures told = {.at = x_calloc(record->count + 1, sizeof *told.at)};
    for (size_t i = 0; i < record->count; i++) {
        const struct refusal *entry = &record->at[i];
        enum write_failure_why why;
        if (is_of_object(request, entry, &why)) {
            told.at[told.count++] =
                (struct write_failure){entry->object, entry->is_change, why, entry->text};
        }
    }
    return told;
}
