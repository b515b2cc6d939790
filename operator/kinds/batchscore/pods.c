// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/pods.h"

#include "operator/cluster.h"
#include "operator/kinds/batchscore/plan.h"

#include <stdlib.h>
#include <string.h>

/* The image's files belong to root; the agent is nobody special. */
enum { AGENT_USER = 65532 };

bool endpoint_read(const json_t *service, struct endpoint *ret_endpoint) {
    const json_t *annotations = tree_get(service, "metadata.annotations");
    struct endpoint endpoint = {
        .address = tree_text(service, "spec.clusterIP", ""),
        .port = tree_integer(service, "spec.ports[0].port", 0),
        .certificate_sha256 =
            json_string_value(json_object_get(annotations, ANNOTATION_CERTIFICATE_SHA256)),
        .secret = json_string_value(json_object_get(annotations, ANNOTATION_SECRET)),
    };
    if (!*endpoint.address || endpoint.port < 1 || !endpoint.certificate_sha256 ||
        !endpoint.secret) {
        return false;
    }
    *ret_endpoint = endpoint;
    return true;
}

static json_t *labels(const char *job, const char *role) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", LABEL_JOB, job, LABEL_ROLE, role,
                     "app.kubernetes.io/name", "batchscore", "app.kubernetes.io/instance", job,
                     "app.kubernetes.io/component", role, "app.kubernetes.io/managed-by",
                     "windlass");
}

/* Objects go with the resource that owns them. Without a uid it is stored nowhere yet. */
static json_t *metadata(const json_t *object, const char *name, const char *role) {
    const char *job = tree_text(object, "metadata.name", "");
    json_t *made =
        json_pack("{s:s, s:s, s:o}", "name", name, "namespace",
                  tree_text(object, "metadata.namespace", "default"), "labels", labels(job, role));
    const char *uid = tree_text(object, "metadata.uid", NULL);
    if (uid) {
        json_object_set_new(made, "ownerReferences",
                            json_pack("[{s:s, s:s, s:s, s:s, s:b, s:b}]", "apiVersion",
                                      tree_text(object, "apiVersion", ""), "kind",
                                      tree_text(object, "kind", ""), "name", job, "uid", uid,
                                      "controller", true, "blockOwnerDeletion", true));
    }
    return made;
}

json_t *batchscore_credentials(const json_t *object, const struct credentials *credentials) {
    const char *job = tree_text(object, "metadata.name", "");
    AUTO(text_freep) char *secret_name = x_printf("%s-credentials", job);
    AUTO(text_freep) char *service_name = x_printf("%s-coordinator", job);
    json_t *secret =
        json_pack("{s:s, s:s, s:o, s:s, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind", "Secret",
                  "metadata", metadata(object, secret_name, "coordinator"), "type", "Opaque",
                  "stringData", SECRET_TOKEN, credentials->token, SECRET_CERTIFICATE,
                  credentials->certificate, SECRET_KEY, credentials->key);
    json_t *service = json_pack(
        "{s:s, s:s, s:o, s:{s:s, s:{s:s, s:s}, s:[{s:s, s:s, s:i, s:i}]}}", "apiVersion", "v1",
        "kind", "Service", "metadata", metadata(object, service_name, "coordinator"), "spec",
        "type", "ClusterIP", "selector", LABEL_JOB, job, LABEL_ROLE, "coordinator", "ports", "name",
        "work", "protocol", "TCP", "port", BATCHSCORE_PORT, "targetPort", BATCHSCORE_PORT);
    json_object_set_new(json_object_get(service, "metadata"), "annotations",
                        json_pack("{s:s, s:s, s:s}", ANNOTATION_CERTIFICATE,
                                  credentials->certificate, ANNOTATION_CERTIFICATE_SHA256,
                                  credentials->certificate_sha256, ANNOTATION_SECRET, secret_name));
    return json_pack("[o, o]", secret, service);
}

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

static json_t *environment_of_both(const struct batchscore_spec *spec,
                                   const struct endpoint *endpoint, const char *pod_name) {
    json_t *environment = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        add_value(environment, spec->volumes[i].name, spec->volumes[i].mount_path);
    }
    AUTO(tree_freep) json_t *json = json_copy((json_t *)spec->json);
    json_object_set_new(json, "miniBatchSize", json_integer(spec->mini_batch_size));
    AUTO(text_freep) char *text = tree_canonical(json);
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

static json_t *volumes(const struct batchscore_spec *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        const struct volume *volume = &spec->volumes[i];
        json_t *made = json_pack("{s:s}", "name", volume->name);
        switch (volume->kind) {
        case VOLUME_HOST_PATH:
            json_object_set_new(made, "hostPath", json_pack("{s:s}", "path", volume->source));
            break;
        case VOLUME_PERSISTENT_VOLUME_CLAIM:
            json_object_set_new(made, "persistentVolumeClaim",
                                json_pack("{s:s, s:b}", "claimName", volume->source, "readOnly",
                                          volume->read_only));
            break;
        case VOLUME_EMPTY_DIR:
        default:
            json_object_set_new(made, "emptyDir", json_object());
        }
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

static json_t *pod(const struct batchscore_spec *spec, const char *name, const char *role,
                   int attempt, json_t *container_new) {
    json_t *made = metadata(spec->object, name, role);
    char text[16];
    snprintf(text, sizeof text, "%d", attempt);
    json_object_set_new(json_object_get(made, "labels"), LABEL_ATTEMPT, json_string(text));
    json_t *security = json_pack("{s:b, s:i, s:i, s:i, s:s, s:{s:s}}", "runAsNonRoot", true,
                                 "runAsUser", AGENT_USER, "runAsGroup", AGENT_USER, "fsGroup",
                                 AGENT_USER, "fsGroupChangePolicy", "OnRootMismatch",
                                 "seccompProfile", "type", "RuntimeDefault");
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:b, s:b, s:o, s:[o], s:o}}", "apiVersion", "v1",
                     "kind", "Pod", "metadata", made, "spec", "restartPolicy", "Never",
                     "automountServiceAccountToken", false, "enableServiceLinks", false,
                     "securityContext", security, "containers", container_new, "volumes",
                     volumes(spec));
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
    json_t *resources = json_pack("{s:{s:s, s:s}}", "requests", "cpu", "250m", "memory", "256Mi");
    return pod(spec, name, "coordinator", attempt,
               container(spec, "coordinate", environment, resources));
}

/* A node with GPUs is often tainted so that nothing else gets in: a worker with GPUs may. */
static json_t *tolerations(const struct batchscore_spec *spec) {
    json_t *list = spec->tolerations ? json_deep_copy(spec->tolerations) : json_array();
    if (spec->gpus > 0) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "key", "nvidia.com/gpu",
                                              "operator", "Exists", "effect", "NoSchedule"));
    }
    return list;
}

static json_t *worker_resources(const struct batchscore_spec *spec) {
    json_t *resources = spec->resources ? json_deep_copy(spec->resources) : json_object();
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
    json_t *pod_spec = json_object_get(made, "spec");
    json_t *list = tolerations(spec);
    if (json_array_size(list) > 0) {
        json_object_set(pod_spec, "tolerations", list);
    }
    json_decref(list);
    if (json_object_size(spec->node_selector) > 0) {
        json_object_set_new(pod_spec, "nodeSelector", json_deep_copy(spec->node_selector));
    }
    return made;
}
