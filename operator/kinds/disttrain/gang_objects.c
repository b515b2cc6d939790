// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/gang_objects.h"

#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/job/owned.h"

#include <assert.h>
#include <string.h>

enum { UID_SHOWN = 8 };

static const struct {
    const char *api_version; /* of the PodGroup; NULL: the scheduler has none */
    const char *needs;
} schedulers[] = {
    [GANG_NONE] = {NULL, ""},
    [GANG_POD_GROUP] = {"scheduling.x-k8s.io/v1alpha1",
                        "the coscheduling plugin and the definition of PodGroup "
                        "(podgroups.scheduling.x-k8s.io) of "
                        "https://github.com/kubernetes-sigs/scheduler-plugins"},
    [GANG_VOLCANO] = {"scheduling.volcano.sh/v1beta1",
                      "Volcano (podgroups.scheduling.volcano.sh), https://volcano.sh"},
    [GANG_KUEUE] = {NULL, "Kueue 0.15 or later with its integration pod for this namespace, "
                          "https://kueue.sigs.k8s.io"},
};
static_assert(ARRAY_LEN(schedulers) == GANG_COUNT, "one row per scheduler");

#define LABEL_POD_GROUP "scheduling.x-k8s.io/pod-group"
#define ANNOTATION_VOLCANO "scheduling.k8s.io/group-name"
#define KUEUE_QUEUE "kueue.x-k8s.io/queue-name"
#define KUEUE_COUNT "kueue.x-k8s.io/pod-group-total-count"
#define KUEUE_RETRIABLE "kueue.x-k8s.io/retriable-in-group"
#define KUEUE_GATE "kueue.x-k8s.io/admission"
#define KUEUE_API "kueue.x-k8s.io/v1beta2"

const char *gang_needs(enum gang_kind kind) {
    return schedulers[kind].needs;
}

static char *name_of_object(const struct disttrain_spec *spec) {
    return x_printf("%s-gang", spec->job.name);
}

json_t *gang_object(const struct disttrain_spec *spec, const json_t *service) {
    if (!schedulers[spec->gang].api_version) {
        return NULL;
    }
    AUTO(text_freep) char *name = name_of_object(spec);
    json_t *metadata = owned_metadata(spec->job.object, name, ROLE_MEMBER);
    json_object_set_new(metadata, "ownerReferences", owned_by_service(service));
    json_t *wanted = json_pack("{s:i}", "minMember", spec->min_workers);
    if (spec->gang == GANG_VOLCANO) {
        json_t *priority = json_object_get(spec->job.json, "priorityClassName");
        json_object_set_new(wanted, "queue", json_string(spec->queue ? spec->queue : "default"));
        if (priority) {
            json_object_set(wanted, "priorityClassName", priority);
        }
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", schedulers[spec->gang].api_version,
                     "kind", "PodGroup", "metadata", metadata, "spec", wanted);
}

/* ---- pods ---- */

static void mark_for_kueue(const struct disttrain_spec *spec, const char *group, json_t *pod) {
    json_t *metadata = json_object_get(pod, "metadata");
    json_t *labels = tree_part(metadata, "labels"),
           *annotations = tree_part(metadata, "annotations");
    json_object_set_new(labels, KUEUE_QUEUE, json_string(spec->queue));
    json_object_set_new(labels, LABEL_KUEUE_GROUP, json_string(group));
    json_object_set_new(annotations, KUEUE_COUNT, json_sprintf("%d", spec->workers));
    json_object_set_new(annotations, KUEUE_RETRIABLE, json_string("false"));
    json_object_set_new(json_object_get(pod, "spec"), "schedulingGates",
                        json_pack("[{s:s}]", "name", KUEUE_GATE));
}

void gang_mark(const struct disttrain_spec *spec, const char *group, json_t *pod) {
    json_t *metadata = json_object_get(pod, "metadata");
    AUTO(text_freep) char *name = name_of_object(spec);
    switch (spec->gang) {
    case GANG_POD_GROUP:
        json_object_set_new(tree_part(metadata, "labels"), LABEL_POD_GROUP, json_string(name));
        break;
    case GANG_VOLCANO:
        json_object_set_new(tree_part(metadata, "annotations"), ANNOTATION_VOLCANO,
                            json_string(name));
        json_object_set_new(json_object_get(pod, "spec"), "schedulerName", json_string("volcano"));
        break;
    case GANG_KUEUE:
        mark_for_kueue(spec, group, pod);
        break;
    case GANG_NONE:
    case GANG_COUNT:
        break;
    }
}

/* ---- Kueue ---- */

/* The name contains the job's uid, because pods of an earlier job of this name may still exist. */
char *gang_group(const struct disttrain_spec *spec, int attempt) {
    return x_printf("%s-%.*s-%d", spec->job.name, UID_SHOWN,
                    tree_text(spec->job.object, "metadata.uid", "none"), attempt);
}

const char *gang_group_of(const json_t *pod) {
    return owned_label(pod, LABEL_KUEUE_GROUP);
}

bool gang_is_managed(const json_t *pod) {
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

bool gang_is_counted(const json_t *pod) {
    return gang_group_of(pod) && !is_phase(pod, "Failed") && (!is_leaving(pod) || has_node(pod));
}

bool gang_is_orphan(const json_t *pod) {
    bool is_gated = tree_find(tree_get(pod, "spec.schedulingGates"), "name", KUEUE_GATE) != NULL;
    return gang_group_of(pod) && gang_is_managed(pod) && is_gated && !is_kept(pod) &&
           !is_leaving(pod);
}

bool gang_is_held(const json_t *pod) {
    return gang_group_of(pod) && is_leaving(pod) && is_kept(pod) && is_phase(pod, "Pending") &&
           !has_node(pod);
}

json_t *gang_workload(const char *group) {
    return json_pack("{s:s, s:s, s:s}", "apiVersion", KUEUE_API, "kind", "Workload", "name", group);
}
