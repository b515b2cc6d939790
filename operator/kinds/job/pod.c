// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/pod.h"

#include "operator/cluster.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_volumes.h"

#include <stdio.h>
#include <string.h>

/* The image's files belong to root; the agent runs as an unprivileged user. */
enum { AGENT_USER = 65532 };

/* The label of a spot node of AKS, and the key of its taint. */
#define LABEL_SPOT "kubernetes.azure.com/scalesetpriority"

/* A pod with it gets a token of its service account for Azure, from the webhook of workload
 * identity. */
#define LABEL_IDENTITY "azure.workload.identity/use"
#define ANNOTATION_SKIPPED "azure.workload.identity/skip-containers" /* gets none */
#define ANNOTATION_SKIPPED_EKS "eks.amazonaws.com/skip-containers"   /* nor a role of Amazon's */

/* Our own volumes: /windlass and /tmp. */
#define VOLUME_OWN "windlass-shim"
#define VOLUME_SCRATCH "windlass-tmp"

void pod_add_value(json_t *environment, const char *name, const char *value) {
    json_array_append_new(environment, json_pack("{s:s, s:s}", "name", name, "value", value));
}

void pod_add_read_token(json_t *environment, const char *token) {
    if (token) {
        pod_add_value(environment, "WINDLASS_READ_TOKEN", token);
    }
}

void pod_add_secret(json_t *environment, const char *name, const char *secret, const char *key) {
    json_array_append_new(environment,
                          json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", name, "valueFrom",
                                    "secretKeyRef", "name", secret, "key", key));
}

void pod_add_field(json_t *environment, const char *name, const char *path) {
    json_array_append_new(environment, json_pack("{s:s, s:{s:{s:s}}}", "name", name, "valueFrom",
                                                 "fieldRef", "fieldPath", path));
}

/* In a value $(X) refers to a variable and $$ means $; a spec must arrive unchanged. */
static char *escape_dollars(const char *text) {
    char *escaped = x_malloc(2 * strlen(text) + 1), *to = escaped;
    for (; *text; text++) {
        *to++ = *text;
        if (*text == '$') {
            *to++ = '$';
        }
    }
    *to = 0;
    return escaped;
}

void pod_add_restart(json_t *environment, const struct job_spec *spec) {
    const char *text = owned_annotation(spec->object, ANNOTATION_RESTART);
    if (text && *text) {
        AUTO(text_freep) char *escaped = escape_dollars(text);
        pod_add_value(environment, "WINDLASS_RESTART", escaped);
    }
}

void pod_add_tree(json_t *environment, const char *name, const json_t *tree) {
    AUTO(text_freep) char *text = tree_canonical(tree);
    AUTO(text_freep) char *escaped = escape_dollars(text);
    pod_add_value(environment, name, escaped);
}

void pod_add_text(json_t *environment, const char *name, const char *text) {
    AUTO(text_freep) char *escaped = escape_dollars(text);
    pod_add_value(environment, name, escaped);
}

json_t *pod_environment(const struct job_spec *spec, const json_t *work, const char *pod_name) {
    json_t *environment = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        pod_add_value(environment, spec->volumes[i].name, spec->volumes[i].mount_path);
    }
    pod_add_value(environment, "WINDLASS_JOB", spec->name);
    pod_add_value(environment, "WINDLASS_RUN", spec->run);
    pod_add_tree(environment, "WINDLASS_SPEC", work);
    pod_add_value(environment, "WINDLASS_WORKER", pod_name);
    if (json_array_size(spec->stores) > 0) {
        AUTO(text_freep) char *stores = job_stores(spec->stores);
        pod_add_value(environment, "WINDLASS_STORES", stores);
    }
    if (json_array_size(spec->buckets) > 0) {
        AUTO(text_freep) char *buckets = job_stores(spec->buckets);
        pod_add_value(environment, "WINDLASS_BUCKETS", buckets);
    }
    if (spec->logs_json) {
        pod_add_value(environment, "WINDLASS_LOG_FORMAT", "json");
    }
    if (spec->sandbox && strcmp(spec->sandbox, "auto") != 0) {
        pod_add_value(environment, "WINDLASS_SANDBOX", spec->sandbox);
    }
    return environment;
}

/* ---- where results come from ---- */

static void leave_out_values(json_t *tree);

static void leave_out_variable(json_t *variable) {
    if (json_object_get(variable, "value")) {
        json_object_set_new(variable, "value", json_string("(left out)"));
    }
}

static void leave_out_member(const char *key, json_t *child) {
    const char *name;
    json_t *value;
    void *next;
    if (strcmp(key, "environment") == 0 && json_is_object(child)) {
        json_object_foreach_safe(child, next, name, value) {
            json_object_set_new(child, name, json_string("(left out)"));
        }
    } else if (strcmp(key, "env") == 0 && json_is_array(child)) {
        for (size_t i = 0; i < json_array_size(child); i++) {
            leave_out_variable(json_array_get(child, i));
        }
    } else {
        leave_out_values(child);
    }
}

static void leave_out_values(json_t *tree) {
    const char *key;
    json_t *child;
    json_object_foreach(tree, key, child) {
        leave_out_member(key, child);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        leave_out_values(json_array_get(tree, i));
    }
}

static json_t *manifest_of(const struct job_spec *spec) {
    json_t *own_spec = json_deep_copy(spec->json);
    leave_out_values(own_spec);
    json_t *manifest = json_object();
    json_object_set(manifest, "apiVersion", json_object_get(spec->object, "apiVersion"));
    json_object_set(manifest, "kind", json_object_get(spec->object, "kind"));
    json_object_set_new(manifest, "metadata",
                        json_pack("{s:s, s:s}", "name", spec->name, "namespace", spec->namespace));
    json_object_set_new(manifest, "spec", own_spec);
    return manifest;
}

void pod_add_origin(json_t *environment, const struct job_spec *spec, json_t *images_new) {
    AUTO(tree_freep) json_t *images = images_new;
    AUTO(tree_freep) json_t *manifest = manifest_of(spec);
    pod_add_tree(environment, "WINDLASS_MANIFEST", manifest);
    pod_add_tree(environment, "WINDLASS_IMAGES", images);
}

char *pod_authority(const char *address, int64_t port) {
    bool v6 = strchr(address, ':') != NULL;
    return x_printf(v6 ? "[%s]:%lld" : "%s:%lld", address, (long long)port);
}

json_t *pod_secure(void) {
    return json_pack("{s:b, s:b, s:{s:[s]}}", "allowPrivilegeEscalation", false,
                     "readOnlyRootFilesystem", true, "capabilities", "drop", "ALL");
}

void pod_add_mount(json_t *mounts, const char *name, const char *path) {
    if (!tree_find(mounts, "mountPath", path)) {
        json_array_append_new(mounts, json_pack("{s:s, s:s}", "name", name, "mountPath", path));
    }
}

void pod_set_if(json_t *object, const char *name, json_t *value_new) {
    if (value_new && (!json_is_array(value_new) || json_array_size(value_new) > 0) &&
        (!json_is_object(value_new) || json_object_size(value_new) > 0)) {
        json_object_set(object, name, value_new);
    }
    json_decref(value_new);
}

json_t *pod_resources(const json_t *given, int gpus) {
    json_t *resources = given ? json_deep_copy(given) : json_object();
    if (gpus > 0) {
        json_t *limits = json_object_get(resources, "limits");
        if (!limits) {
            limits = json_object();
            json_object_set_new(resources, "limits", limits);
        }
        char count[16];
        snprintf(count, sizeof count, "%d", gpus);
        json_object_set_new(limits, "nvidia.com/gpu", json_string(count));
    }
    return resources;
}

/* Whether one of the stores or buckets has that field: of a bucket, the service account's. */
static bool has_identity(const json_t *places, const char *field) {
    for (size_t i = 0; i < json_array_size(places); i++) {
        const char *identity = tree_text(json_array_get(places, i), field, "Node");
        if (strcmp(identity, "Node") != 0) {
            return true;
        }
    }
    return false;
}

json_t *pod_make(const struct job_spec *spec, const char *name, const char *role, int attempt,
                 json_t *container_new) {
    json_t *made = owned_metadata(spec->object, name, role);
    char text[16];
    snprintf(text, sizeof text, "%d", attempt);
    json_object_set_new(json_object_get(made, "labels"), LABEL_ATTEMPT, json_string(text));
    if (has_identity(spec->stores, "clientID")) {
        json_object_set_new(json_object_get(made, "labels"), LABEL_IDENTITY, json_string("true"));
    }
    json_t *security = json_pack("{s:b, s:i, s:i, s:i, s:s, s:{s:s}}", "runAsNonRoot", true,
                                 "runAsUser", AGENT_USER, "runAsGroup", AGENT_USER, "fsGroup",
                                 AGENT_USER, "fsGroupChangePolicy", "OnRootMismatch",
                                 "seccompProfile", "type", "RuntimeDefault");
    json_t *pod_spec = json_pack(
        "{s:s, s:b, s:b, s:o, s:[o], s:o, s:s*, s:s*}", "restartPolicy", "Never",
        "automountServiceAccountToken", false, "enableServiceLinks", false, "securityContext",
        security, "containers", container_new, "volumes", pod_volumes(spec), "serviceAccountName",
        spec->service_account, "priorityClassName", spec->priority_class);
    pod_set_if(pod_spec, "imagePullSecrets", json_deep_copy(spec->image_pull_secrets));
    return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata", made,
                     "spec", pod_spec);
}

void pod_withhold_identity(const struct job_spec *spec, json_t *pod, const char *container) {
    const struct {
        const char *annotation;
        bool is_set;
    } rows[] = {{ANNOTATION_SKIPPED, has_identity(spec->stores, "clientID")},
                {ANNOTATION_SKIPPED_EKS, has_identity(spec->buckets, "identity")}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].is_set) {
            json_object_set_new(tree_ensure_object(json_object_get(pod, "metadata"), "annotations"),
                                rows[i].annotation, json_string(container));
        }
    }
}

void pod_add_folders(json_t *pod) {
    json_t *agent = json_array_get(tree_get(pod, "spec.containers"), 0);
    json_t *volumes = tree_get(pod, "spec.volumes");
    json_t *mounts = json_object_get(agent, "volumeMounts");
    json_array_append_new(volumes, pod_scratch(VOLUME_OWN));
    json_array_append_new(volumes, pod_scratch(VOLUME_SCRATCH));
    pod_add_mount(mounts, VOLUME_OWN, POD_FOLDER);
    pod_add_mount(mounts, VOLUME_SCRATCH, "/tmp");
}

json_t *pod_installer(const struct job_spec *spec, const char *volume, const char *folder) {
    return json_pack("{s:s, s:s, s:[s], s:[s, s], s:{}, s:[{s:s, s:s}], s:s, s:o}", "name",
                     "windlass-install", "image", spec->image, "command", "windlass-agent", "args",
                     "install", folder, "resources", "volumeMounts", "name", volume, "mountPath",
                     folder, "terminationMessagePolicy", "FallbackToLogsOnError", "securityContext",
                     pod_secure());
}

void pod_install_shim(const struct job_spec *spec, json_t *pod) {
    pod_add_folders(pod);
    json_object_set_new(json_object_get(pod, "spec"), "initContainers",
                        json_pack("[o]", pod_installer(spec, VOLUME_OWN, POD_FOLDER)));
}

json_t *pod_prefer(json_t *expressions_new) {
    return json_pack("{s:{s:[{s:i, s:{s:o}}]}}", "nodeAffinity",
                     "preferredDuringSchedulingIgnoredDuringExecution", "weight", 100, "preference",
                     "matchExpressions", expressions_new);
}

static json_t *tolerate(const char *key, const char *operator, const char * value) {
    return json_pack("{s:s, s:s, s:s*, s:s}", "key", key, "operator", operator, "value", value,
                     "effect", "NoSchedule");
}

void pod_place(json_t *pod, const json_t *given, int gpus, bool spot) {
    json_t *pod_spec = json_object_get(pod, "spec");
    json_t *tolerations = given ? json_deep_copy(given) : json_array();
    if (gpus > 0) {
        json_array_append_new(tolerations, tolerate("nvidia.com/gpu", "Exists", NULL));
    }
    if (spot) {
        json_array_append_new(tolerations, tolerate(LABEL_SPOT, "Equal", "spot"));
        json_object_set_new(pod_spec, "affinity",
                            pod_prefer(json_pack("[{s:s, s:s, s:[s]}]", "key", LABEL_SPOT,
                                                 "operator", "In", "values", "spot")));
    }
    pod_set_if(pod_spec, "tolerations", tolerations);
}
