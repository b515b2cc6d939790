// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/other_owner.h"

#include "operator/kinds/job/cache_transform.h"
#include "operator/kinds/job/spec.h"

#include <string.h>

static const json_t *other_of(const json_t *pod) {
    return json_object_get(json_object_get(pod, "metadata"), CACHE_OTHER_OWNER);
}

static void report(struct reconcile *request, const json_t *pod) {
    const json_t *other = other_of(pod);
    AUTO(text_freep)
    char *note = x_printf("pod %.80s has another owner, too, %.80s %.80s: when the job is deleted, "
                          "the cluster keeps the pod until that one is deleted",
                          tree_text(pod, "metadata.name", ""), tree_text(other, "kind", ""),
                          tree_text(other, "name", ""));
    struct reconcile_event event = {.type = "Warning",
                                    .reason = "PodShared",
                                    .note = note,
                                    .after = tree_text(pod, "metadata.name", "")};
    event_recorder_add(request, &event);
}

void other_owner_note(struct reconcile *request, struct other_owner *other, const json_t *pods) {
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        if (other_of(pod)) {
            if (!other->is_told) {
                report(request, pod);
            }
            other->is_told = true;
            return;
        }
    }
    other->is_told = false;
}

/* As of a Job of batch/v1. On this machine (options->folders) there is no other controller. */
static bool is_of_another(const json_t *object, const struct job_options *options) {
    const char *manager = tree_text(object, "spec.managedBy", NULL);
    bool is_here = options && options->folders;
    return manager && !is_here && strcmp(manager, "windlass.dev/controller") != 0;
}

bool other_owner_manages(const struct reconcile *request, const struct job_options *options,
                         const char *const *kinds) {
    if (!is_of_another(request->object, options)) {
        return false;
    }
    for (; *kinds; kinds++) {
        AUTO(tree_freep) json_t *owned = cache_owned(request->cache, *kinds, request->object);
        if (json_array_size(owned) > 0) {
            return false;
        }
    }
    return true;
}
