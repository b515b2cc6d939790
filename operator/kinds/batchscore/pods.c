// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/pods.h"

#include "operator/cluster.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/batchscore/work.h"
#include "operator/kinds/job/pod_volumes.h"
#include "operator/kinds/job/template.h"

#include <stdlib.h>
#include <string.h>

/* The image's files belong to root; the agent is nobody special. */
enum { AGENT_USER = 65532 };

/* The label of a spot node of AKS, and the key of its taint. */
#define LABEL_SPOT "kubernetes.azure.com/scalesetpriority"

/* Where Azure tells that a machine will be taken away; agent/score/notice.h asks there. */
#define EVENTS_URL "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"

/* Who has it gets a token of its service account for Azure, by the webhook of workload identity. */
#define LABEL_IDENTITY "azure.workload.identity/use"

/* Of our own making, in the pods of a command. */
#define VOLUME_SHIM "windlass-shim"
#define VOLUME_SCRATCH "windlass-tmp"

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

static json_t *environment_of_all(const struct batchscore_spec *spec, const char *pod_name) {
    json_t *environment = json_array();
    for (size_t i = 0; i < spec->job.volume_count; i++) {
        add_value(environment, spec->job.volumes[i].name, spec->job.volumes[i].mount_path);
    }
    AUTO(text_freep) char *text = tree_canonical(spec->work);
    AUTO(text_freep) char *escaped = escape_dollars(text);
    add_value(environment, "WINDLASS_JOB", spec->job.name);
    add_value(environment, "WINDLASS_RUN", spec->job.run);
    add_value(environment, "WINDLASS_SPEC", escaped);
    add_value(environment, "WINDLASS_WORKER", pod_name);
    if (json_array_size(spec->job.stores) > 0) {
        AUTO(text_freep) char *stores = job_stores(spec->job.json);
        add_value(environment, "WINDLASS_STORES", stores);
    }
    return environment;
}

static json_t *environment_of_both(const struct batchscore_spec *spec,
                                   const struct endpoint *endpoint, const char *pod_name) {
    json_t *environment = environment_of_all(spec, pod_name);
    add_secret(environment, "WINDLASS_TOKEN", endpoint->secret, SECRET_TOKEN);
    return environment;
}

/* What the restricted Pod Security Standard asks for, and a root file system nobody can write. */
static json_t *secure(void) {
    return json_pack("{s:b, s:b, s:{s:[s]}}", "allowPrivilegeEscalation", false,
                     "readOnlyRootFilesystem", true, "capabilities", "drop", "ALL");
}

static json_t *container(const struct batchscore_spec *spec, const char *subcommand,
                         json_t *environment_new, json_t *resources_new) {
    return json_pack("{s:s, s:s, s:[s], s:[s], s:o, s:o, s:o, s:s, s:o}", "name", "agent", "image",
                     spec->job.image, "command", "windlass-agent", "args", subcommand, "env",
                     environment_new, "resources", resources_new, "volumeMounts",
                     pod_mounts(&spec->job), "terminationMessagePolicy", "FallbackToLogsOnError",
                     "securityContext", secure());
}

static void add_mount(json_t *mounts, const char *name, const char *path) {
    if (!tree_find(mounts, "mountPath", path)) {
        json_array_append_new(mounts, json_pack("{s:s, s:s}", "name", name, "mountPath", path));
    }
}

/* The user's program in the user's image, started by our shim, which the agent's image brings. It
 * may write in /tmp alone. */
static void run_command(const struct batchscore_spec *spec, json_t *pod_new) {
    json_t *pod_spec = json_object_get(pod_new, "spec");
    json_t *agent = json_array_get(json_object_get(pod_spec, "containers"), 0);
    json_t *volumes = json_object_get(pod_spec, "volumes");
    json_t *mounts = json_object_get(agent, "volumeMounts");
    json_t *environment = json_object_get(agent, "env"), *value;
    const char *name;
    json_object_set_new(agent, "image",
                        json_string(tree_text(spec->command, "image", spec->job.image)));
    json_object_set_new(agent, "command", json_pack("[s]", POD_FOLDER "/windlass-shim"));
    json_object_foreach(json_object_get(spec->command, "environment"), name, value) {
        add_value(environment, name, json_string_value(value));
    }
    json_array_append_new(volumes, pod_scratch(VOLUME_SHIM));
    json_array_append_new(volumes, pod_scratch(VOLUME_SCRATCH));
    add_mount(mounts, VOLUME_SHIM, POD_FOLDER);
    add_mount(mounts, VOLUME_SCRATCH, "/tmp");
    json_t *install = json_pack(
        "{s:s, s:s, s:[s], s:[s, s], s:{}, s:[{s:s, s:s}], s:s, s:o}", "name", "windlass-install",
        "image", spec->job.image, "command", "windlass-agent", "args", "install", POD_FOLDER,
        "resources", "volumeMounts", "name", VOLUME_SHIM, "mountPath", POD_FOLDER,
        "terminationMessagePolicy", "FallbackToLogsOnError", "securityContext", secure());
    json_object_set_new(pod_spec, "initContainers", json_pack("[o]", install));
}

static void set_if(json_t *object, const char *name, json_t *value_new) {
    if (value_new && (!json_is_array(value_new) || json_array_size(value_new) > 0) &&
        (!json_is_object(value_new) || json_object_size(value_new) > 0)) {
        json_object_set(object, name, value_new);
    }
    json_decref(value_new);
}

static bool has_identity(const struct batchscore_spec *spec) {
    for (size_t i = 0; i < json_array_size(spec->job.stores); i++) {
        if (json_object_get(json_array_get(spec->job.stores, i), "clientID")) {
            return true;
        }
    }
    return false;
}

/* Everything but what makes a role: the caller adds that, then the templates. */
static json_t *pod(const struct batchscore_spec *spec, const char *name, const char *role,
                   int attempt, json_t *container_new) {
    json_t *made = owned_metadata(spec->job.object, name, role);
    char text[16];
    snprintf(text, sizeof text, "%d", attempt);
    json_object_set_new(json_object_get(made, "labels"), LABEL_ATTEMPT, json_string(text));
    if (has_identity(spec)) {
        json_object_set_new(json_object_get(made, "labels"), LABEL_IDENTITY, json_string("true"));
    }
    json_t *security = json_pack("{s:b, s:i, s:i, s:i, s:s, s:{s:s}}", "runAsNonRoot", true,
                                 "runAsUser", AGENT_USER, "runAsGroup", AGENT_USER, "fsGroup",
                                 AGENT_USER, "fsGroupChangePolicy", "OnRootMismatch",
                                 "seccompProfile", "type", "RuntimeDefault");
    json_t *pod_spec =
        json_pack("{s:s, s:b, s:b, s:o, s:[o], s:o, s:s*, s:s*}", "restartPolicy", "Never",
                  "automountServiceAccountToken", false, "enableServiceLinks", false,
                  "securityContext", security, "containers", container_new, "volumes",
                  pod_volumes(&spec->job), "serviceAccountName", spec->job.service_account,
                  "priorityClassName", spec->job.priority_class);
    set_if(pod_spec, "imagePullSecrets", json_deep_copy(spec->job.image_pull_secrets));
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
    template_apply(pod_new, spec->job.template);
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
    AUTO(text_freep) char *name = x_printf("%s-coordinator-%d", spec->job.name, attempt);
    bool v6 = strchr(endpoint->address, ':') != NULL;
    AUTO(text_freep)
    char *bind = x_printf(v6 ? "[$(POD_IP)]:%lld" : "$(POD_IP):%lld", (long long)endpoint->port);
    json_t *environment = environment_of_both(spec, endpoint, name);
    add_secret(environment, "WINDLASS_TLS_CERTIFICATE", endpoint->secret, SECRET_CERTIFICATE);
    add_secret(environment, "WINDLASS_TLS_KEY", endpoint->secret, SECRET_KEY);
    add_field(environment, "POD_IP", "status.podIP");
    add_value(environment, "WINDLASS_BIND", bind);
    add_value(environment, "WINDLASS_UID", tree_text(spec->job.object, "metadata.uid", ""));
    const json_t *resources = spec->coordinator.resources;
    json_t *made = pod(spec, name, "coordinator", attempt,
                       container(spec, "coordinate", environment,
                                 resources ? json_deep_copy(resources) : json_object()));
    place_coordinator(spec, made);
    return finish(spec, &spec->coordinator, made);
}

json_t *pods_watch(const struct batchscore_spec *spec, int64_t number, int attempt,
                   const char *mark) {
    AUTO(text_freep)
    char *name = attempt > 1
                     ? x_printf("%s-watch-%lld-%d", spec->job.name, (long long)number, attempt)
                     : x_printf("%s-watch-%lld", spec->job.name, (long long)number);
    json_t *environment = environment_of_all(spec, name);
    add_value(environment, "WINDLASS_MARK", mark);
    const json_t *resources = spec->coordinator.resources;
    json_t *made = pod(spec, name, ROLE_WATCH, attempt,
                       container(spec, "watch", environment,
                                 resources ? json_deep_copy(resources) : json_object()));
    json_t *metadata = json_object_get(made, "metadata");
    json_object_set_new(json_object_get(metadata, "labels"), LABEL_INDEX,
                        json_sprintf("%lld", (long long)number));
    json_object_set_new(metadata, "annotations",
                        json_pack("{s:s}", ANNOTATION_WATCH, spec->job.hash));
    set_if(json_object_get(made, "spec"), "tolerations",
           json_deep_copy(spec->coordinator.tolerations));
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
    char *name = attempt > 1 ? x_printf("%s-worker-%d-%d", spec->job.name, index, attempt)
                             : x_printf("%s-worker-%d", spec->job.name, index);
    bool v6 = strchr(endpoint->address, ':') != NULL;
    AUTO(text_freep)
    char *coordinator =
        x_printf(v6 ? "[%s]:%lld" : "%s:%lld", endpoint->address, (long long)endpoint->port);
    json_t *environment = environment_of_both(spec, endpoint, name);
    add_value(environment, "WINDLASS_COORDINATOR", coordinator);
    add_value(environment, "WINDLASS_COORDINATOR_SHA256", endpoint->certificate_sha256);
    char gpus[16];
    snprintf(gpus, sizeof gpus, "%d", spec->gpus);
    add_value(environment, "WINDLASS_GPUS", gpus);
    if (spec->spot) {
        add_value(environment, "WINDLASS_EVENTS", EVENTS_URL);
    }
    json_t *made = pod(spec, name, "worker", attempt,
                       container(spec, "score", environment, worker_resources(spec)));
    char text[16];
    snprintf(text, sizeof text, "%d", index);
    json_object_set_new(tree_get(made, "metadata.labels"), LABEL_INDEX, json_string(text));
    if (spec->command) {
        run_command(spec, made);
    }
    place_worker(spec, made);
    return finish(spec, &spec->workers, made);
}
