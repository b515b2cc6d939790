// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/cache_transform.h"

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"

#include <string.h>

const char *disttrain_sweep(const json_t *object) {
    const json_t *owners = tree_get(object, "metadata.ownerReferences");
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        /* (In the cache only the controller is kept, without saying that it is.) */
        if (tree_bool(owner, "controller", json_array_size(owners) == 1) &&
            strcmp(tree_text(owner, "kind", ""), "Sweep") == 0) {
            return tree_text(owner, "name", NULL);
        }
    }
    return NULL;
}

/* Without its annotation its values are known by its program's environment (sweep/trial.h). */
static void keep_values(json_t *kept, const json_t *trial) {
    static const char *const values[] = {"environment", NULL};
    if (!owned_annotation(trial, ANNOTATION_TRIAL)) {
        object_copy(tree_ensure_object(kept, "spec"), json_object_get(trial, "spec"), values);
    }
}

/* Keeps the fields of a finished trial by which its Sweep judges and ranks it. */
static json_t *keep_trial(const json_t *trial) {
    static const char *const annotations[] = {ANNOTATION_TRIAL, ANNOTATION_RESTART, NULL};
    static const char *const more[] = {"badSamples", "losses",  "objective", "proof",
                                       "startTime",  "trained", NULL};
    json_t *kept = cache_transform_job(trial, annotations);
    if (cache_transform_is_final(trial) &&
        (owned_annotation(trial, ANNOTATION_TRIAL) || disttrain_sweep(trial))) {
        keep_values(kept, trial);
        json_t *status = cache_transform_pick(json_object_get(trial, "status"), more);
        json_object_update(json_object_get(kept, "status"), status);
        json_decref(status);
        json_object_set(tree_get(kept, "status.conditions[0]"), "message",
                        json_object_get(conditions_find(trial, "Succeeded"), "message"));
    }
    return kept;
}

json_t *disttrain_transform(const json_t *object) {
    const char *kind = tree_text(object, "kind", "");
    bool is_owned = strcmp(kind, "Pod") == 0 || strcmp(kind, "Service") == 0;
    return is_owned ? cache_transform_owned(object) : keep_trial(object);
}
