// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/cache_transform.h"

#include "operator/cluster.h"
#include "operator/control/claim.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"

#include <string.h>

/* Shares the values, because they never change. */
json_t *cache_transform_pick(const json_t *from, const char *const *fields) {
    json_t *picked = json_object();
    object_copy(picked, from, fields);
    return picked;
}

static void put(json_t *to, const char *name, json_t *value_new) {
    if (json_object_size(value_new) > 0 || json_array_size(value_new) > 0) {
        json_object_set(to, name, value_new);
    }
    json_decref(value_new);
}

/* Only the controller: it alone decides whose the object is (control/claim.h). */
static json_t *keep_owners(const json_t *metadata) {
    static const char *const owner[] = {"kind", "name", "uid", NULL};
    json_t *owners = json_array(), *reference;
    size_t i;
    json_array_foreach(json_object_get(metadata, "ownerReferences"), i, reference) {
        if (tree_bool(reference, "controller", false)) {
            json_array_append_new(owners, cache_transform_pick(reference, owner));
        }
    }
    return owners;
}

/* Of an object without a controller also for which job it was made (cache_lost). */
static void put_owners(json_t *kept, const json_t *metadata) {
    json_t *owners = keep_owners(metadata);
    json_t *uid = json_object_get(json_object_get(metadata, "annotations"), ANNOTATION_UID);
    if (json_array_size(owners) == 0 && uid) {
        json_object_set(tree_ensure_object(kept, "annotations"), ANNOTATION_UID, uid);
    }
    put(kept, "ownerReferences", owners);
}

static void put_other_owner(json_t *kept, const json_t *pod) {
    static const char *const fields[] = {"kind", "name", NULL};
    const json_t *owners = tree_get(pod, "metadata.ownerReferences");
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        if (!tree_bool(owner, "controller", false)) {
            json_object_set_new(kept, CACHE_OTHER_OWNER, cache_transform_pick(owner, fields));
            return;
        }
    }
}

static json_t *keep_owned_metadata(const json_t *object) {
    static const char *const fields[] = {"uid", "creationTimestamp", "deletionTimestamp",
                                         "deletionGracePeriodSeconds", NULL};
    static const char *const labels[] = {LABEL_ROLE, LABEL_ATTEMPT, LABEL_INDEX, NULL};
    static const char *const annotations[] = {ANNOTATION_SECRET,
                                              ANNOTATION_CERTIFICATE,
                                              ANNOTATION_CERTIFICATE_SHA256,
                                              ANNOTATION_READ_TOKEN,
                                              ANNOTATION_SPEC_SNAPSHOT,
                                              ANNOTATION_DEATHS,
                                              ANNOTATION_FINISHES,
                                              ANNOTATION_WATCH,
                                              ANNOTATION_ALONE,
                                              ANNOTATION_BEGUN_DIGEST,
                                              NULL};
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *kept = cache_transform_pick(metadata, fields);
    put(kept, "labels", cache_transform_pick(json_object_get(metadata, "labels"), labels));
    put(kept, "annotations",
        cache_transform_pick(json_object_get(metadata, "annotations"), annotations));
    put_owners(kept, metadata);
    return kept;
}

static json_t *keep_conditions(const json_t *pod) {
    static const char *const types[] = {"PodScheduled", "DisruptionTarget"};
    static const char *const fields[] = {
        "type", "status", "reason", "message", "lastTransitionTime", NULL};
    json_t *kept = json_array();
    const json_t *status = json_object_get(pod, "status");
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const json_t *condition = object_condition(status, types[i]);
        if (condition) {
            json_array_append_new(kept, cache_transform_pick(condition, fields));
        }
    }
    return kept;
}

/* The agent's status, without its name, as the first; and that of another that cannot start. */
static json_t *keep_container_status(const json_t *pod) {
    static const char *const fields[] = {"state", "imageID", NULL};
    static const char *const troubled[] = {"image", "state", NULL};
    const json_t *agent = object_agent(tree_get(pod, "status.containerStatuses"));
    const json_t *other = pod_phase_other_trouble(pod);
    json_t *kept = agent ? json_pack("[o]", cache_transform_pick(agent, fields)) : json_array();
    if (other) {
        json_array_append_new(kept, cache_transform_pick(other, troubled));
    }
    return kept;
}

static json_t *keep_init_trouble(const json_t *pod) {
    static const char *const fields[] = {"image", "state", NULL};
    const json_t *init = pod_phase_init_trouble(pod);
    return init ? json_pack("[o]", cache_transform_pick(init, fields)) : json_array();
}

/* Fields that are needed only of a pod that waits in a queue of Kueue, alone or in a group. */
static void keep_turn(json_t *kept, const json_t *pod) {
    static const char *const labels[] = {LABEL_KUEUE_GROUP, LABEL_KUEUE_QUEUE, LABEL_KUEUE_MANAGED};
    json_t *gates = tree_get(pod, "spec.schedulingGates"), *node = tree_get(pod, "spec.nodeName");
    bool is_grouped = owned_label(pod, LABEL_KUEUE_GROUP);
    if (!is_grouped && !owned_label(pod, LABEL_KUEUE_QUEUE)) {
        return;
    }
    json_t *metadata = tree_ensure_object(kept, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        json_object_set(tree_ensure_object(metadata, "labels"), labels[i],
                        json_object_get(tree_get(pod, "metadata.labels"), labels[i]));
    }
    json_object_set(tree_ensure_object(kept, "spec"), "schedulingGates", gates);
    if (is_grouped) {
        json_object_set(json_object_get(kept, "spec"), "nodeName", node);
        json_object_set(metadata, "finalizers", tree_get(pod, "metadata.finalizers"));
    }
}

static json_t *keep_gpus(const json_t *container) {
    static const char *const gpus[] = {"nvidia.com/gpu", NULL};
    json_t *kept = json_object();
    json_t *limits = cache_transform_pick(tree_get(container, "resources.limits"), gpus);
    if (json_object_size(limits) > 0) {
        json_object_set_new(kept, "resources", json_pack("{s:O}", "limits", limits));
    }
    json_decref(limits);
    return kept;
}

/* The agent as the first, without its name, and the others that ask for GPUs. */
static json_t *keep_containers(const json_t *pod) {
    const json_t *list = tree_get(pod, "spec.containers"), *agent = object_agent(list);
    json_t *first = keep_gpus(agent), *kept = json_pack("[o]", first);
    json_object_set(first, "image", json_object_get(agent, "image"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *other = json_array_get(list, i);
        json_t *gpus = other != agent ? keep_gpus(other) : NULL;
        if (json_object_size(gpus) > 0) {
            json_array_append(kept, gpus);
        }
        json_decref(gpus);
    }
    return kept;
}

static json_t *keep_pod(const json_t *pod) {
    static const char *const fields[] = {"phase", "reason", "message", NULL};
    json_t *status = cache_transform_pick(json_object_get(pod, "status"), fields);
    put(status, "conditions", keep_conditions(pod));
    put(status, "containerStatuses", keep_container_status(pod));
    put(status, "initContainerStatuses", keep_init_trouble(pod));
    json_t *kept = json_pack("{s:o, s:o}", "metadata", keep_owned_metadata(pod), "status", status);
    if (strcmp(tree_text(pod, "status.phase", "Pending"), "Pending") == 0) {
        json_object_set_new(kept, "spec", json_pack("{s:o}", "containers", keep_containers(pod)));
    }
    put_other_owner(json_object_get(kept, "metadata"), pod);
    keep_turn(kept, pod);
    return kept;
}

/* Of a pod that another container keeps although the agent has ended: that it has. */
static void keep_end(json_t *status, const json_t *pod) {
    const char *phase = tree_text(pod, "status.phase", "");
    bool has_ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    if (!has_ended && pod_phase_agent_state(pod, "terminated")) {
        put(status, "containerStatuses", keep_container_status(pod));
    }
}

json_t *cache_transform_leftover(const json_t *object) {
    static const char *const fields[] = {"uid", "deletionTimestamp", "ownerReferences",
                                         CACHE_OTHER_OWNER, NULL};
    static const char *const labels[] = {LABEL_ROLE, LABEL_INDEX, NULL};
    static const char *const status[] = {"phase", NULL};
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *kept = cache_transform_pick(metadata, fields);
    put(kept, "labels", cache_transform_pick(json_object_get(metadata, "labels"), labels));
    json_t *ended = json_pack("{s:o}", "metadata", kept);
    json_t *phase = cache_transform_pick(json_object_get(object, "status"), status);
    keep_end(phase, object);
    put(ended, "status", phase);
    keep_turn(ended, object);
    return ended;
}

static json_t *keep_service(const json_t *service) {
    static const char *const fields[] = {"clusterIP", "ports", "selector", NULL};
    json_t *spec = cache_transform_pick(json_object_get(service, "spec"), fields);
    if (strcmp(tree_text(service, "spec.type", "ClusterIP"), "ClusterIP") != 0) {
        static const char *const changed[] = {"type", "externalName", "loadBalancerSourceRanges",
                                              NULL}; /* by somebody */
        object_copy(spec, json_object_get(service, "spec"), changed);
    }
    return json_pack("{s:o, s:o}", "metadata", keep_owned_metadata(service), "spec", spec);
}

json_t *cache_transform_owned(const json_t *object) {
    bool is_pod = strcmp(tree_text(object, "kind", ""), "Pod") == 0;
    return is_pod ? keep_pod(object) : keep_service(object);
}

/* While a new generation must be acknowledged, the whole status is needed, because it is written
 * again. */
bool cache_transform_is_final(const json_t *job) {
    return conditions_is_finished(job) && tree_integer(job, "metadata.generation", 0) ==
                                              tree_integer(job, "status.observedGeneration", -1);
}

/* A run of a series has an owner, too. */
static json_t *keep_metadata(const json_t *object, const char *const *annotations) {
    static const char *const fields[] = {"uid", "generation", "deletionTimestamp", NULL};
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *kept = cache_transform_pick(metadata, fields);
    put(kept, "annotations",
        cache_transform_pick(json_object_get(metadata, "annotations"), annotations));
    put_owners(kept, metadata);
    if (json_object_get(metadata, "deletionTimestamp")) { /* why it is still there */
        json_object_set(kept, "finalizers", json_object_get(metadata, "finalizers"));
    }
    return kept;
}

/* A trial or a run of a series: no user refers to it. A tool's object may own a job, too. */
static bool is_made_by_ours(const json_t *job) {
    json_t *reference;
    size_t i;
    json_array_foreach(tree_get(job, "metadata.ownerReferences"), i, reference) {
        if (tree_bool(reference, "controller", false) &&
            text_starts(tree_text(reference, "apiVersion", ""), "windlass.dev/")) {
            return true;
        }
    }
    return false;
}

/* Where its results are, for jobs that come after it (after/after.h). */
static void keep_output(json_t *kept, const json_t *job) {
    const json_t *spec = json_object_get(job, "spec");
    json_t *path = tree_get(spec, "output.path"), *trained = tree_get(spec, "trainer.output.path");
    json_t *outputs = json_object_get(spec, "outputs");
    bool is_only = !trained && !path && json_array_size(outputs) == 1;
    json_t *parameters = json_object_get(spec, "parameters");
    bool is_well = strcmp(tree_text(conditions_find(job, "Succeeded"), "status", ""), "True") == 0;
    if (!is_well || is_made_by_ours(job) || !(path || trained || is_only)) {
        return;
    }
    json_t *to = tree_ensure_object(kept, "spec");
    if (parameters) { /* which its path may have */
        json_object_set(to, "parameters", parameters);
    }
    if (is_only) {
        json_object_set(to, "outputs", outputs);
        return;
    }
    to = trained ? tree_ensure_object(to, "trainer") : to;
    json_object_set(tree_ensure_object(to, "output"), "path", trained ? trained : path);
}

json_t *cache_transform_job(const json_t *job, const char *const *annotations) {
    json_t *kept = json_pack("{s:o}", "metadata", keep_metadata(job, annotations));
    if (!cache_transform_is_final(job)) {
        static const char *const all[] = {"spec", "status", NULL};
        object_copy(kept, job, all);
        return kept;
    }
    static const char *const spec[] = {"ttlSecondsAfterFinished", NULL};
    static const char *const status[] = {"observedGeneration", "completionTime", NULL};
    static const char *const summary[] = {"type", "status", "reason", "observedGeneration", NULL};
    json_t *conditions = cache_transform_pick(json_object_get(job, "status"), status);
    json_object_set_new(
        conditions, "conditions",
        json_pack("[o]", cache_transform_pick(conditions_find(job, "Succeeded"), summary)));
    put(kept, "spec", cache_transform_pick(json_object_get(job, "spec"), spec));
    json_object_set_new(kept, "status", conditions);
    keep_output(kept, job);
    return kept;
}
