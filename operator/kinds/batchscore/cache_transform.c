// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/cache_transform.h"

#include "operator/kinds/batchscore/series.h"

#include <string.h>

static void merge(json_t *kept, const char *name, json_t *fields_new) {
    json_t *there = json_object_get(kept, name);
    if (there) {
        json_object_update(there, fields_new);
    } else if (json_object_size(fields_new) > 0) {
        json_object_set(kept, name, fields_new);
    }
    json_decref(fields_new);
}

/* Keeps the fields of a finished run that its series reports. */
static void keep_run(json_t *kept, const json_t *run) {
    static const char *const spec[] = {"output", NULL};
    static const char *const status[] = {"items", "startTime", NULL};
    merge(kept, "spec", cache_transform_pick(json_object_get(run, "spec"), spec));
    merge(kept, "status", cache_transform_pick(json_object_get(run, "status"), status));
    json_t *condition = tree_get(kept, "status.conditions[0]");
    json_object_set(condition, "message",
                    json_object_get(conditions_find(run, "Succeeded"), "message"));
}

static json_t *keep_job(const json_t *job) {
    static const char *const annotations[] = {ANNOTATION_RUN, ANNOTATION_RESTART, NULL};
    json_t *kept = cache_transform_job(job, annotations);
    if (cache_transform_is_final(job) && series_is_run(job)) {
        keep_run(kept, job);
    }
    return kept;
}

json_t *batchscore_transform(const json_t *object) {
    const char *kind = tree_text(object, "kind", "");
    bool is_owned = strcmp(kind, "Pod") == 0 || strcmp(kind, "Service") == 0;
    return is_owned ? cache_transform_owned(object) : keep_job(object);
}
