// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/pods.h"

#include "operator/cluster.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/template.h"

#include <stdlib.h>
#include <string.h>

/* The image's files belong to root; the agent is nobody special. */
enum { AGENT_USER = 65532 };

/* The label of a spot node of AKS, and the key of its taint. */
#define LABEL_SPOT "kubernetes.azure.com/scalesetpriority"

static void add_value(json_t *environment, const char *name, const char *value) {
    json_array_append_new(environment, json_pack("{s:s, s:s}", "name", name, "value", value));
}

static void add_secret(json_t *environment, const char *name, const char *secret, const char *key) {
    json_array_append_new(environment,
                          json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", name, "valueFrom",
                                    "secretKeyRef", "name", secret, "key", key));
}

static void add_field(json_t *environment, const char *name, const char *path) {
    json_array_append_new(environment, json_pack("{s:s, s:{s:{s:s}}}", "name", name, "valueFrom",
                                                 "fieldRef", "fieldPath", path));
}

/* $(X) in a value stands for a variable, $$ for $: a spec must arrive as it is. */
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

/* What of the spec the agent reads; what the pods are like is not its business. */
static char *work_of(const struct batchscore_spec *spec) {
    static const char *const fields[] = {"input", "scorer", "output", "retry"};
    AUTO(tree_freep) json_t *work = json_object();
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        json_object_set(work, fields[i], json_object_get(spec->json, fields[i]));
    }
    json_object_set_new(work, "miniBatchSize", json_integer(spec->mini_batch_size));
    return tree_canonical(work);
}

static json_t *environment_of_both(const struct batchscore_spec *spec,
                                   const struct endpoint *endpoint, const char *pod_name) {
    json_t *environment = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        add_value(environment, spec->volumes[i].name, spec->volumes[i].mount_path);
    }
    AUTO(text_freep) char *text = work_of(spec);
    AUTO(text_freep) char *escaped = escape_dollars(text);
    add_value(environment, "WINDLASS_JOB", spec->name);
    add_value(environment, "WINDLASS_RUN", spec->run);
    add_value(environment, "WINDLASS_SPEC", escaped);
    add_value(environment, "WINDLASS_WORKER", pod_name);
    add_secret(environment, "WINDLASS_TOKEN", endpoint->secret, SECRET_TOKEN);
    return environment;
}

static json_t *mounts(const struct batchscore_spec *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        const struct volume *volume = &spec->volumes[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", volume->name, "mountPath",
                                              volume->mount_path, "readOnly", volume->read_only));
    }
    return list;
}

/* Options of a mount in one text; "" when there are none. */
static char *join_options(const json_t *list, const char *separator) {
    char *joined = x_strdup("");
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO(text_freep) char *before = joined;
        joined = x_printf("%s%s%s", before, i ? separator : "",
                          json_string_value(json_array_get(list, i)) ?: "");
    }
    return joined;
}

static json_t *csi(const char *driver, bool read_only, json_t *attributes_new) {
    return json_pack("{s:s, s:b, s:o}", "driver", driver, "readOnly", read_only, "volumeAttributes",
                     attributes_new);
}

/* The driver reads an inline volume's Secret by name, in the pod's namespace, and its account's
 * name from there; nodePublishSecretRef it does not read for those. What is written by one node
 * must be seen by the others at once, so nothing about files is cached unless nobody writes. */
static json_t *blobfuse(const struct volume *volume) {
    static const char *const copied[][2] = {{"container", "containerName"},
                                            {"secretName", "secretName"},
                                            {"account", "storageAccount"},
                                            {"clientID", "clientID"},
                                            {"resourceGroup", "resourceGroup"}};
    json_t *attributes = json_pack("{s:s}", "protocol", "fuse2");
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_object_set(attributes, copied[i][1], json_object_get(volume->source, copied[i][0]));
    }
    if (json_object_get(volume->source, "clientID")) {
        json_object_set_new(attributes, "mountWithWorkloadIdentityToken", json_string("true"));
    }
    const json_t *given = json_object_get(volume->source, "mountOptions");
    AUTO(text_freep) char *options = join_options(given, " ");
    const char *standard = given               ? options
                           : volume->read_only ? "--allow-other --read-only"
                                               : "--allow-other --attr-timeout=0 --entry-timeout=0 "
                                                 "--negative-timeout=0 --attr-cache-timeout=0 "
                                                 "--file-cache-timeout=0";
    json_object_set_new(attributes, "mountOptions", json_string(standard));
    return csi("blob.csi.azure.com", volume->read_only, attributes);
}

static json_t *azure_file(const struct volume *volume) {
    const json_t *given = json_object_get(volume->source, "mountOptions");
    json_t *attributes =
        json_pack("{s:O, s:O}", "shareName", json_object_get(volume->source, "shareName"),
                  "secretName", json_object_get(volume->source, "secretName"));
    AUTO(text_freep) char *options = join_options(given, ",");
    const char *standard = given               ? options
                           : volume->read_only ? "ro,nosharesock"
                                               : "actimeo=1,nosharesock";
    json_object_set_new(attributes, "mountOptions", json_string(standard));
    return csi("file.csi.azure.com", volume->read_only, attributes);
}

static json_t *with_read_only(const struct volume *volume) {
    json_t *made = json_deep_copy(volume->source);
    json_object_set_new(made, "readOnly", json_boolean(volume->read_only));
    return made;
}

static void add_source(json_t *made, const struct volume *volume) {
    switch (volume->kind) {
    case VOLUME_PERSISTENT_VOLUME_CLAIM:
        json_object_set_new(made, "persistentVolumeClaim", with_read_only(volume));
        break;
    case VOLUME_BLOBFUSE:
        json_object_set_new(made, "csi", blobfuse(volume));
        break;
    case VOLUME_AZURE_FILE:
        json_object_set_new(made, "csi", azure_file(volume));
        break;
    case VOLUME_NFS:
        json_object_set_new(made, "nfs", with_read_only(volume));
        break;
    case VOLUME_HOST_PATH:
        json_object_set_new(made, "hostPath", json_deep_copy(volume->source));
        break;
    case VOLUME_EMPTY_DIR:
    case VOLUME_KIND_COUNT:
    default:
        json_object_set_new(made, "emptyDir", json_object());
    }
}

static json_t *volumes(const struct batchscore_spec *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        json_t *made = json_pack("{s:s}", "name", spec->volumes[i].name);
        add_source(made, &spec->volumes[i]);
        json_array_append_new(list, made);
    }
    return list;
}

/* What the restricted Pod Security Standard asks for, and a root file system nobody can write. */
static json_t *container(const struct batchscore_spec *spec, const char *subcommand,
                         json_t *environment_new, json_t *resources_new) {
    return json_pack("{s:s, s:s, s:[s], s:[s], s:o, s:o, s:o, s:s, s:{s:b, s:b, s:{s:[s]}}}",
                     "name", "agent", "image", spec->image, "command", "windlass-agent", "args",
                     subcommand, "env", environment_new, "resources", resources_new, "volumeMounts",
                     mounts(spec), "terminationMessagePolicy", "FallbackToLogsOnError",
                     "securityContext", "allowPrivilegeEscalation", false, "readOnlyRootFilesystem",
                     true, "capabilities", "drop", "ALL");
}

static void set_if(json_t *object, const char *name, json_t *value_new) {
    if (value_new && (!json_is_array(value_new) || json_array_size(value_new) > 0) &&
        (!json_is_object(value_new) || json_object_size(value_new) > 0)) {
        json_object_set(object, name, value_new);
    }
    json_decref(value_new);
}

/* Everything but what makes a role: the caller adds that, then the templates. */
static json_t *pod(const struct batchscore_spec *spec, const char *name, const char *role,
                   int attempt, json_t *container_new) {
    json_t *made = owned_metadata(spec->object, name, role);
    char text[16];
    snprintf(text, sizeof text, "%d", attempt);
    json_object_set_new(json_object_get(made, "labels"), LABEL_ATTEMPT, json_string(text));
    json_t *security = json_pack("{s:b, s:i, s:i, s:i, s:s, s:{s:s}}", "runAsNonRoot", true,
                                 "runAsUser", AGENT_USER, "runAsGroup", AGENT_USER, "fsGroup",
                                 AGENT_USER, "fsGroupChangePolicy", "OnRootMismatch",
                                 "seccompProfile", "type", "RuntimeDefault");
    json_t *pod_spec = json_pack(
        "{s:s, s:b, s:b, s:o, s:[o], s:o, s:s*, s:s*}", "restartPolicy", "Never",
        "automountServiceAccountToken", false, "enableServiceLinks", false, "securityContext",
        security, "containers", container_new, "volumes", volumes(spec), "serviceAccountName",
        spec->service_account, "priorityClassName", spec->priority_class);
    set_if(pod_spec, "imagePullSecrets", json_deep_copy(spec->image_pull_secrets));
    return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata", made,
                     "spec", pod_spec);
}

/* One term: nodes where all of the expressions hold are preferred. */
static json_t *prefer(json_t *expressions_new) {
    return json_pack("{s:{s:[{s:i, s:{s:o}}]}}", "nodeAffinity",
                     "preferredDuringSchedulingIgnoredDuringExecution", "weight", 100, "preference",
                     "matchExpressions", expressions_new);
}

static json_t *tolerate(const char *key, const char *operator, const char * value) {
    return json_pack("{s:s, s:s, s:s*, s:s}", "key", key, "operator", operator, "value", value,
                     "effect", "NoSchedule");
}

/* What the role asks for, and the user's templates over all. */
static json_t *finish(const struct batchscore_spec *spec, const struct batchscore_role *role,
                      json_t *pod_new) {
    json_t *pod_spec = json_object_get(pod_new, "spec");
    set_if(pod_spec, "nodeSelector", json_deep_copy(role->node_selector));
    template_apply(pod_new, spec->template);
    template_apply(pod_new, role->template);
    return pod_new;
}

/* A job's GPUs are dear, and its coordinator needs none: it keeps off nodes that have some. And as
 * all workers would wait for its replacement, a cluster that tidies up its nodes leaves it there.
 */
static void place_coordinator(const struct batchscore_spec *spec, json_t *pod_new) {
    static const char *const gpu_labels[] = {"nvidia.com/gpu.present",
                                             "kubernetes.azure.com/accelerator", "accelerator"};
    json_t *pod_spec = json_object_get(pod_new, "spec");
    json_object_set_new(json_object_get(pod_new, "metadata"), "annotations",
                        json_pack("{s:s, s:s}", "cluster-autoscaler.kubernetes.io/safe-to-evict",
                                  "false", "karpenter.sh/do-not-disrupt", "true"));
    set_if(pod_spec, "tolerations", json_deep_copy(spec->coordinator.tolerations));
    if (spec->gpus > 0) {
        json_t *absent = json_array();
        for (size_t i = 0; i < ARRAY_LEN(gpu_labels); i++) {
            json_array_append_new(
                absent, json_pack("{s:s, s:s}", "key", gpu_labels[i], "operator", "DoesNotExist"));
        }
        json_object_set_new(pod_spec, "affinity", prefer(absent));
    }
}

json_t *pods_coordinator(const struct batchscore_spec *spec, const struct endpoint *endpoint,
                         int attempt) {
    AUTO(text_freep) char *name = x_printf("%s-coordinator-%d", spec->name, attempt);
    bool v6 = strchr(endpoint->address, ':') != NULL;
    AUTO(text_freep)
    char *bind = x_printf(v6 ? "[$(POD_IP)]:%lld" : "$(POD_IP):%lld", (long long)endpoint->port);
    json_t *environment = environment_of_both(spec, endpoint, name);
    add_secret(environment, "WINDLASS_TLS_CERTIFICATE", endpoint->secret, SECRET_CERTIFICATE);
    add_secret(environment, "WINDLASS_TLS_KEY", endpoint->secret, SECRET_KEY);
    add_field(environment, "POD_IP", "status.podIP");
    add_value(environment, "WINDLASS_BIND", bind);
    add_value(environment, "WINDLASS_UID", tree_text(spec->object, "metadata.uid", ""));
    const json_t *resources = spec->coordinator.resources;
    json_t *made = pod(spec, name, "coordinator", attempt,
                       container(spec, "coordinate", environment,
                                 resources ? json_deep_copy(resources) : json_object()));
    place_coordinator(spec, made);
    return finish(spec, &spec->coordinator, made);
}

/* A node with GPUs is often tainted so that nothing else gets in, a spot node of AKS always: who
 * asked for them may. Spot nodes are cheaper, so they come first. */
static void place_worker(const struct batchscore_spec *spec, json_t *pod_new) {
    json_t *pod_spec = json_object_get(pod_new, "spec");
    json_t *tolerations =
        spec->workers.tolerations ? json_deep_copy(spec->workers.tolerations) : json_array();
    if (spec->gpus > 0) {
        json_array_append_new(tolerations, tolerate("nvidia.com/gpu", "Exists", NULL));
    }
    if (spec->spot) {
        json_array_append_new(tolerations, tolerate(LABEL_SPOT, "Equal", "spot"));
        json_object_set_new(pod_spec, "affinity",
                            prefer(json_pack("[{s:s, s:s, s:[s]}]", "key", LABEL_SPOT, "operator",
                                             "In", "values", "spot")));
    }
    set_if(pod_spec, "tolerations", tolerations);
}

static json_t *worker_resources(const struct batchscore_spec *spec) {
    json_t *resources =
        spec->workers.resources ? json_deep_copy(spec->workers.resources) : json_object();
    if (spec->gpus > 0) {
        json_t *limits = json_object_get(resources, "limits");
        if (!limits) {
            limits = json_object();
            json_object_set_new(resources, "limits", limits);
        }
        char count[16];
        snprintf(count, sizeof count, "%d", spec->gpus);
        json_object_set_new(limits, "nvidia.com/gpu", json_string(count));
    }
    return resources;
}

json_t *pods_worker(const struct batchscore_spec *spec, const struct endpoint *endpoint, int index,
                    int attempt) {
    AUTO(text_freep)
    char *name = attempt > 1 ? x_printf("%s-worker-%d-%d", spec->name, index, attempt)
                             : x_printf("%s-worker-%d", spec->name, index);
    bool v6 = strchr(endpoint->address, ':') != NULL;
    AUTO(text_freep)
    char *coordinator =
        x_printf(v6 ? "[%s]:%lld" : "%s:%lld", endpoint->address, (long long)endpoint->port);
    json_t *environment = environment_of_both(spec, endpoint, name);
    add_value(environment, "WINDLASS_COORDINATOR", coordinator);
    add_value(environment, "WINDLASS_COORDINATOR_SHA256", endpoint->certificate_sha256);
    json_t *made = pod(spec, name, "worker", attempt,
                       container(spec, "score", environment, worker_resources(spec)));
    char text[16];
    snprintf(text, sizeof text, "%d", index);
    json_object_set_new(tree_get(made, "metadata.labels"), LABEL_INDEX, json_string(text));
    place_worker(spec, made);
    return finish(spec, &spec->workers, made);
}
