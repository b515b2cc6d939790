/* plan_result.h: what a plan decides about one pass. Order between writes comes from steps: a write
 * that needs another's result is planned in a later pass, because any write of a pass may be lost.
 * After the result is carried out, the next plan has nothing to do. */
#pragma once

#include "operator/kinds/job/object_key.h"

/* An object that is to go. */
struct plan_deletion {
    struct object_key object; /* owned */
    const char
        *api_version; /* of an object that is not watched; NULL: the cache has it; a literal */
};

/* An Event for people. Texts are owned, but for the type. */
struct plan_event {
    const char *type; /* "Normal", "Warning" */
    char *reason, *note;
    char *of; /* sent when the object of that name is created or changed; NULL: with the status */
};

struct plan_result {
    json_t *create; /* objects, none of which exists; owned, as all below */
    /* Objects to change, which have their uid; and those of kinds that are not watched, without
     * one: created unless they exist, changed if they are ours (reconcile/ensured.h). */
    json_t *apply;
    struct plan_deletion *delete;
    size_t delete_count;
    struct plan_event *events;
    size_t event_count;
    json_t *status; /* the whole one that the resource should have: written only when it differs */
    bool needs_credentials; /* create some and plan again with them */
    bool has_more;          /* there is more to create: plan again when this is done */
    int64_t again_ms;       /* plan again after this time even without a change; 0: not needed */
};

void plan_result_release(struct plan_result *result);
/* Empties create, apply and delete. */
void plan_result_clear(struct plan_result *result);
/* key is copied. */
void plan_result_delete(struct plan_result *result, const char *api_version, struct object_key key);
bool plan_result_deletes(const struct plan_result *result, struct object_key key);
/* Texts are copied; of: NULL for none. */
void plan_result_add_event(struct plan_result *result, const struct plan_event *event);
