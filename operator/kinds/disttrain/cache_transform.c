// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/cache_transform.h"

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ANNOTATION_MAX = 64 << 10 };

/* In the cache only the controller is kept, without saying that it is, and without its group. */
static bool is_sweep(const json_t *owner) {
    const char *version = tree_text(owner, "apiVersion", NULL);
    return strcmp(tree_text(owner, "kind", ""), "Sweep") == 0 &&
           tree_bool(owner, "controller", !version) &&
           (!version || text_starts(version, "windlass.dev/"));
}

const char *disttrain_sweep(const json_t *object) {
    const json_t *owners = tree_get(object, "metadata.ownerReferences");
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        if (is_sweep(owner)) {
            return tree_text(owner, "name", NULL);
        }
    }
    return NULL;
}

bool disttrain_trial_annotation(const json_t *trial, int64_t *ret_index, json_t **ret_values) {
    const char *text = owned_annotation(trial, ANNOTATION_TRIAL);
    struct error ignored = {0};
    AUTO(tree_freep) json_t *said = NULL;
    if (!text || tree_parse(text, strlen(text), ANNOTATION_MAX, &said, &ignored) < 0) {
        return false;
    }
    json_t *values = json_object_get(said, "values");
    *ret_index = tree_integer(said, "index", -1);
    if (*ret_index < 0 || !json_is_object(values)) {
        return false;
    }
    *ret_values = json_incref(values);
    return true;
}

/* The number in "NAME-0007" and "NAME-0007-b"; -1: there is none. */
static int64_t number_in(const char *name) {
    const char *end = name + strlen(name);
    if (end - name > 2 && end[-2] == '-') {
        end -= 2;
    }
    while (end > name && end[-1] != '-') {
        end--;
    }
    return end > name && isdigit((unsigned char)*end) ? strtoll(end, NULL, 10) : -1;
}

static bool says_which(const json_t *trial) {
    AUTO(tree_freep) json_t *values = NULL;
    int64_t index = -1;
    return disttrain_trial_annotation(trial, &index, &values) &&
           index == number_in(tree_text(trial, "metadata.name", ""));
}

/* If somebody took its annotation off, or wrote something else there, its values are known by its
 * program's environment (sweep/trial.h). */
static void keep_values(json_t *kept, const json_t *trial) {
    static const char *const values[] = {"environment", NULL};
    if (disttrain_sweep(trial) && !says_which(trial)) {
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
