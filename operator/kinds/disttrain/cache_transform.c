// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/cache_transform.h"

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"

#include <string.h>

/* Keeps the fields of a finished trial by which its Sweep judges and ranks it. */
static json_t *keep_trial(const json_t *trial) {
    static const char *const annotations[] = {ANNOTATION_TRIAL, ANNOTATION_RESTART, NULL};
    static const char *const more[] = {"badSamples", "losses",  "objective", "proof",
                                       "startTime",  "trained", NULL};
    json_t *kept = cache_transform_job(trial, annotations);
    if (cache_transform_is_final(trial) && tree_get(kept, "metadata.annotations")) {
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
