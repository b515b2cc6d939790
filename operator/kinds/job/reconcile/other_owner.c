// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/other_owner.h"

#include "operator/kinds/job/cache_transform.h"

bool other_owner_leaves_orphans(const json_t *object) {
    return tree_has_text(tree_get(object, "metadata.finalizers"), "orphan");
}

static const json_t *other_of(const json_t *pod) {
    return json_object_get(json_object_get(pod, "metadata"), CACHE_OTHER_OWNER);
}

static void report(struct reconcile *request, const json_t *pod) {
    const json_t *other = other_of(pod);
    AUTO(text_freep)
    char *note = x_printf("pod %.80s has another owner, too, %.80s %.80s, which would keep it when "
                          "the job is deleted; the controller deletes it then",
                          tree_text(pod, "metadata.name", ""), tree_text(other, "kind", ""),
                          tree_text(other, "name", ""));
    struct reconcile_event event = {.type = "Warning", .reason = "PodShared", .note = note};
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

static bool delete_all(struct reconcile *request, const json_t *pods) {
    bool has_any = false;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        json_t *pod = json_array_get(pods, i);
        if (other_of(pod) && !tree_get(pod, "metadata.deletionTimestamp")) {
            reconcile_write(request, CLUSTER_DELETE, json_incref(pod));
            has_any = true;
        }
    }
    return has_any;
}

/* The garbage collector may have taken the job off their owners already. */
bool other_owner_delete(struct reconcile *request, const struct other_owner *other,
                        const char *uid) {
    if (other->leaves_orphans) {
        return false;
    }
    AUTO(tree_freep)
    json_t *job = json_pack("{s:{s:s, s:s, s:s}}", "metadata", "name", request->name, "namespace",
                            request->namespace, "uid", uid);
    AUTO(tree_freep) json_t *owned = cache_owned(request->cache, "Pod", job);
    AUTO(tree_freep) json_t *lost = cache_lost(request->cache, "Pod", job, 0);
    bool has_owned = delete_all(request, owned), has_lost = delete_all(request, lost);
    return has_owned || has_lost;
}
