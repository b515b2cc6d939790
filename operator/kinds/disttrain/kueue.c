// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/kueue.h"

#include "operator/kinds/job/owned.h"

#include <string.h>

enum { UID_SHOWN = 8 };

#define KUEUE_COUNT "kueue.x-k8s.io/pod-group-total-count"
#define KUEUE_RETRIABLE "kueue.x-k8s.io/retriable-in-group"

void kueue_mark(const struct disttrain_spec *spec, const char *group, json_t *pod) {
    json_t *metadata = json_object_get(pod, "metadata");
    json_t *labels = tree_ensure_object(metadata, "labels"),
           *annotations = tree_ensure_object(metadata, "annotations");
    json_object_set_new(labels, LABEL_KUEUE_GROUP, json_string(group));
    json_object_set_new(annotations, KUEUE_COUNT, json_sprintf("%d", spec->workers));
    json_object_set_new(annotations, KUEUE_RETRIABLE, json_string("false"));
    owned_queue_pod(pod, spec->queue);
}

/* Its groups' names begin so. They contain the job's uid, because pods of an earlier job of this
 * name may still exist. */
static char *prefix_of(const json_t *job) {
    AUTO(text_freep)
    char *prefix = owned_prefix(tree_text(job, "metadata.name", ""), OWNED_PREFIX_MAX);
    return x_printf("%s-%.*s-", prefix, UID_SHOWN, tree_text(job, "metadata.uid", "none"));
}

char *kueue_new_group(const struct disttrain_spec *spec, int attempt) {
    AUTO(text_freep) char *prefix = prefix_of(spec->job.object);
    return x_printf("%s%d", prefix, attempt);
}

const char *kueue_own_group_of(const json_t *job, const json_t *pod) {
    const char *group = kueue_group_of(pod);
    AUTO(text_freep) char *prefix = prefix_of(job);
    return group && text_starts(group, prefix) ? group : NULL;
}

const char *kueue_group_of(const json_t *pod) {
    return owned_label(pod, LABEL_KUEUE_GROUP);
}

bool kueue_is_managed(const json_t *pod) {
    return owned_label(pod, LABEL_KUEUE_MANAGED) != NULL;
}

static bool is_leaving(const json_t *pod) {
    return tree_get(pod, "metadata.deletionTimestamp") != NULL;
}

static bool has_node(const json_t *pod) {
    return *tree_text(pod, "spec.nodeName", "") != '\0';
}

static bool is_phase(const json_t *pod, const char *phase) {
    return strcmp(tree_text(pod, "status.phase", "Pending"), phase) == 0;
}

static bool is_kept(const json_t *pod) {
    const json_t *finalizers = tree_get(pod, "metadata.finalizers");
    for (size_t i = 0; i < json_array_size(finalizers); i++) {
        const char *one = json_string_value(json_array_get(finalizers, i));
        if (one && strcmp(one, LABEL_KUEUE_MANAGED) == 0) {
            return true;
        }
    }
    return false;
}

bool kueue_is_counted(const json_t *pod) {
    return kueue_group_of(pod) && !is_phase(pod, "Failed") && (!is_leaving(pod) || has_node(pod));
}

bool kueue_is_orphan(const json_t *pod) {
    bool is_gated = tree_find(tree_get(pod, "spec.schedulingGates"), "name", KUEUE_GATE) != NULL;
    return kueue_group_of(pod) && kueue_is_managed(pod) && is_gated && !is_kept(pod) &&
           !is_leaving(pod);
}

bool kueue_is_held(const json_t *pod) {
    return kueue_group_of(pod) && is_leaving(pod) && is_kept(pod) && is_phase(pod, "Pending") &&
           !has_node(pod);
}
