// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/holders.h"

#include "operator/kinds/job/reconcile/adoption.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVING_MS = 60000 }; /* its deletion leads to a pass */

void holders_mark(const struct reconcile *request, json_t *object) {
    json_t *metadata = json_object_get(object, "metadata");
    json_object_set_new(tree_ensure_object(metadata, "annotations"), ANNOTATION_UID,
                        json_string(tree_text(request->object, "metadata.uid", "")));
}

/* ---- what the cache knows of a holder ---- */

/* The cache keeps of an object's owners only the controller, and not all labels: so it shows only
 * what is clear. */
static bool decide_by_cache(const struct reconcile *request, struct refusal *row) {
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

static bool may_ask(const struct refusal *row) {
    return row->kind == ERROR_CONFLICT && !row->is_asked &&
           strcmp(row->object.kind, "Secret") != 0 && /* it gets another name (credentials.h) */
           strcmp(row->object.kind, "ControllerRevision") != 0; /* pin.h asks */
}

/* While the cache shows the holder nothing is asked for; when it is gone, the name is free. */
static void wait_for(const struct reconcile *request, struct refusal *row) {
    AUTO(tree_freep)
    json_t *there =
        cache_find(request->cache, row->object.kind, request->namespace, row->object.name);
    if (there && !object_is_owned_by(there, tree_text(request->object, "metadata.uid", ""))) {
        row->is_seen = true;
        row->delay.not_before_ms = request->monotonic_ms + LEAVING_MS;
    } else if (row->is_seen) {
        row->is_seen = row->is_known = false;
        row->delay.not_before_ms = request->monotonic_ms;
    }
}

static void act(struct reconcile *request, struct refusal *row) {
    switch (row->holder) {
    case CLAIM_OURS:
        if (row->there) {
            reconcile_learn(request, row->there);
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
        row->delay.not_before_ms =
            row->delay.failures > 1 ? row->delay.not_before_ms : request->monotonic_ms;
        break;
    case CLAIM_HELD:
    case CLAIM_FOREIGN:
        break;
    }
    json_decref(TAKE(row->there));
}

static uint64_t version_of(const json_t *object) {
    return strtoull(tree_text(object, "metadata.resourceVersion", ""), NULL, 10);
}

/* The watch has shown a later version since it was read: while the job waited for adoptions, for
 * example. */
static bool is_stale(const struct reconcile *request, const struct refusal *row) {
    AUTO(tree_freep)
    json_t *seen =
        cache_find(request->cache, row->object.kind, request->namespace, row->object.name);
    return seen && version_of(seen) > version_of(row->there) &&
           strcmp(tree_text(seen, "metadata.uid", ""),
                  tree_text(row->there, "metadata.uid", "?")) == 0;
}

static void advance(struct reconcile *request, struct refusal *row,
                    const struct credentials *made) {
    if (row->of != REFUSAL_OF_CREATION) {
        return;
    }
    if (row->is_known && row->there && is_stale(request, row)) {
        json_decref(TAKE(row->there));
        row->is_asked = row->is_known = false;
    }
    if (row->is_known && row->there) {
        row->holder = adoption_judge(request, row->there, row->wanted, made);
    }
    if (row->is_known) {
        act(request, row);
    } else if (may_ask(row) && !decide_by_cache(request, row)) {
        ask(request, row);
    }
}

void holders_settle(struct reconcile *request, struct refusals *record,
                    const struct credentials *made) {
    for (size_t i = 0; i < record->count; i++) {
        advance(request, &record->at[i], made);
    }
}

/* ---- answers ---- */

void holders_found(struct refusals *record, const struct found *found) {
    struct object_key key = object_key_of(found->like);
    for (size_t i = 0; i < record->count; i++) {
        struct refusal *row = &record->at[i];
        if (row->of != REFUSAL_OF_CREATION || !row->is_asked || row->is_known ||
            !object_key_equal(row->object, key)) {
            continue;
        }
        if (found->err) { /* asked again after the next creation */
            refusals_explain(row, found->err);
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
            retry_delay_note(&row->delay);
        } else if (row->holder == CLAIM_ADOPT) {
            row->holder = CLAIM_OURS;
        } else if (row->holder == CLAIM_RELEASE) {
            row->holder = CLAIM_FOREIGN;
        }
    }
}
