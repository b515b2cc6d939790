// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/gang_scheduler.h"

#include "operator/kinds/disttrain/kueue.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/job/owned.h"

#include <assert.h>
#include <string.h>

#define LABEL_POD_GROUP "scheduling.x-k8s.io/pod-group"
#define ANNOTATION_VOLCANO "scheduling.k8s.io/group-name"

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

const char *gang_scheduler_needs(enum gang_kind kind) {
    return schedulers[kind].needs;
}

static char *name_of_object(const struct disttrain_spec *spec) {
    AUTO(text_freep) char *prefix = owned_prefix(spec->job.name, OWNED_PREFIX_MAX);
    return x_printf("%s-gang", prefix);
}

json_t *gang_scheduler_object(const struct disttrain_spec *spec, const json_t *service) {
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
        json_object_set_new(wanted, "priorityClassName",
                            priority ? json_incref(priority) : json_null());
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", schedulers[spec->gang].api_version,
                     "kind", "PodGroup", "metadata", metadata, "spec", wanted);
}

/* ---- pods ---- */

void gang_scheduler_mark(const struct disttrain_spec *spec, const char *group, json_t *pod) {
    json_t *metadata = json_object_get(pod, "metadata");
    AUTO(text_freep) char *name = name_of_object(spec);
    switch (spec->gang) {
    case GANG_POD_GROUP:
        json_object_set_new(tree_ensure_object(metadata, "labels"), LABEL_POD_GROUP,
                            json_string(name));
        break;
    case GANG_VOLCANO:
        json_object_set_new(tree_ensure_object(metadata, "annotations"), ANNOTATION_VOLCANO,
                            json_string(name));
        json_object_set_new(json_object_get(pod, "spec"), "schedulerName", json_string("volcano"));
        break;
    case GANG_KUEUE:
        kueue_mark(spec, group, pod);
        break;
    case GANG_NONE:
    case GANG_COUNT:
        break;
    }
}
