// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/holders.h"

#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"

#include <string.h>

enum {
    LOST_MAX = 16,      /* objects without an owner that are looked at, of one job */
    LEAVING_MS = 60000, /* its deletion leads to a pass */
};

void holders_mark(const struct reconcile *request, json_t *object) {
    json_t *metadata = json_object_get(object, "metadata");
    json_object_set_new(tree_part(metadata, "annotations"), ANNOTATION_UID,
                        json_string(tree_text(request->object, "metadata.uid", "")));
}

/* ---- what the cache knows of a holder ---- */

/* The cache keeps of an object's owners only the controller, and not all labels: so it shows only
 * what is clear. */
static bool judge_cached(const struct reconcile *request, struct refusal *row) {
    AUTO(tree_freep)
    json_t *there =
        cache_find(request->cache, row->object.kind, request->namespace, row->object.name);
    const json_t *owner = tree_get(there, "metadata.ownerReferences[0]");
    if (!owner) {
        return false;
    }
    if (object_is_owned_by(there, tree_text(request->object, "metadata.uid", ""))) {
        return false;
    }
    bool is_earlier = strcmp(tree_text(owner, "kind", ""), request->kind) == 0 &&
                      strcmp(tree_text(owner, "name", ""), request->name) == 0;
    row->holder = is_earlier ? CLAIM_LEAVING : CLAIM_FOREIGN;
    row->is_known = true;
    return true;
}

/* ---- one row ---- */

static void ask(struct reconcile *request, struct refusal *row) {
    AUTO(tree_freep)
    json_t *like = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", row->api_version, "kind",
                             row->object.kind, "metadata", "name", row->object.name, "namespace",
                             request->namespace);
    row->is_asked |= reconcile_find(request, like);
}

static bool may_ask(struct reconcile *request, const struct refusal *row) {
    if (row->of == REFUSAL_OF_CREATION) {
        return row->kind == ERROR_CONFLICT && !row->is_asked &&
               strcmp(row->object.kind, "Secret") != 0 && /* it gets another name (credentials.h) */
               strcmp(row->object.kind, "ControllerRevision") != 0; /* pin.h asks */
    }
    return row->failures == 0 || reconcile_may_retry(request, row->not_before_ms, row->failures);
}

/* While the cache shows the holder nothing is asked for; when it is gone, the name is free. */
static void wait_for(const struct reconcile *request, struct refusal *row) {
    AUTO(tree_freep)
    json_t *there =
        cache_find(request->cache, row->object.kind, request->namespace, row->object.name);
    if (there && !object_is_owned_by(there, tree_text(request->object, "metadata.uid", ""))) {
        row->is_seen = true;
        row->not_before_ms = request->monotonic_ms + LEAVING_MS;
    } else if (row->is_seen) {
        row->is_seen = row->is_known = false;
        row->not_before_ms = request->monotonic_ms;
    }
}

static void act(struct reconcile *request, struct refusal *row) {
    switch (row->holder) {
    case CLAIM_OURS:
        if (row->there) {
            cache_put(request->cache, row->there);
        }
        break;
    case CLAIM_ADOPT:
        if (row->there) {
            reconcile_write(request, CLUSTER_MERGE, claim_adoption(row->there, request->object));
        }
        break;
    case CLAIM_RELEASE:
        if (row->there) {
            reconcile_write(request, CLUSTER_MERGE, claim_release(row->there, request->object));
        }
        break;
    case CLAIM_LEAVING:
        wait_for(request, row);
        break;
    case CLAIM_NONE: /* it is gone; the next creation shows more */
        row->is_known = false;
        row->not_before_ms = row->failures > 1 ? row->not_before_ms : request->monotonic_ms;
        break;
    case CLAIM_HELD:
    case CLAIM_FOREIGN:
        break;
    }
    json_decref(TAKE(row->there));
}

/* An object without a controller that names another Secret than the job's was not made for what the
 * job does now, whatever else it says: nothing proves that it is ours, and it could do no work. */
static bool is_proven(const struct reconcile *request, const json_t *there) {
    const char *secret = owned_annotation(there, ANNOTATION_SECRET);
    const char *recorded = tree_text(request->object, "status.credentials.secret", NULL);
    return !secret || (recorded && strcmp(secret, recorded) == 0);
}

static void settle(struct reconcile *request, struct refusal *row) {
    if (row->of != REFUSAL_OF_CREATION && row->of != REFUSAL_OF_ADOPTION) {
        return;
    }
    if (row->is_known && row->there) {
        row->holder = claim_judge(row->there, row->wanted, request->object);
        if (row->holder == CLAIM_ADOPT && !is_proven(request, row->there)) {
            bool may_run = owned_annotation(row->there, ANNOTATION_ALONE) &&
                           pod_phase_read(row->there).stage <= POD_PHASE_LEAVING;
            row->holder = may_run ? CLAIM_HELD : CLAIM_FOREIGN;
        }
    }
    if (row->is_known) {
        act(request, row);
    } else if (may_ask(request, row) &&
               (row->of != REFUSAL_OF_CREATION || !judge_cached(request, row))) {
        ask(request, row);
    }
}

/* ---- objects that have lost their owner ---- */

static void add_lost(struct reconcile *request, struct refusals *record, const char *kind) {
    AUTO(tree_freep)
    json_t *lost = cache_lost(request->cache, kind, request->object, record->mark);
    for (size_t i = 0; i < json_array_size(lost) && record->lost < LOST_MAX; i++) {
        refusals_add_lost(record, json_array_get(lost, i));
    }
}

void holders_settle(struct reconcile *request, struct refusals *record, const char *const *kinds) {
    for (; *kinds; kinds++) {
        add_lost(request, record, *kinds);
    }
    record->mark = cache_changes(request->cache);
    for (size_t i = 0; i < record->count; i++) {
        settle(request, &record->at[i]);
    }
}

/* ---- answers ---- */

void holders_found(struct refusals *record, const struct found *found) {
    struct object_key key = object_key_of(found->like);
    for (size_t i = 0; i < record->count; i++) {
        struct refusal *row = &record->at[i];
        if ((row->of != REFUSAL_OF_CREATION && row->of != REFUSAL_OF_ADOPTION) || !row->is_asked ||
            row->is_known || !object_key_equal(row->object, key)) {
            continue;
        }
        if (found->err) { /* asked again after the next creation */
            refusals_explain(row, found->err);
            row->is_asked = row->of == REFUSAL_OF_CREATION;
            if (row->of == REFUSAL_OF_ADOPTION) {
                refusals_delay(row);
            }
            continue;
        }
        row->is_known = true;
        row->holder = CLAIM_NONE;
        json_decref(row->there);
        row->there = json_incref((json_t *)found->object);
    }
}

void holders_note(struct refusals *record, const struct written *written) {
    struct object_key key = object_key_of(written->object);
    for (size_t i = 0; i < record->count; i++) {
        struct refusal *row = &record->at[i];
        if (!row->is_known || !object_key_equal(row->object, key)) {
            continue;
        }
        if (written->err) {
            row->is_known = false;
            refusals_delay(row);
        } else if (row->holder == CLAIM_ADOPT) {
            row->holder = CLAIM_OURS;
        } else if (row->holder == CLAIM_RELEASE) {
            row->holder = CLAIM_FOREIGN;
        }
    }
}
