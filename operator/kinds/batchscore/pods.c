// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/pods.h"

#include "operator/cluster.h"
#include "operator/kinds/batchscore/endpoint/server_pod.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/batchscore/work.h"
#include "operator/kinds/job/guard/pod_secrets.h"
#include "operator/kinds/job/pod.h"
#include "operator/kinds/job/pod_volumes.h"
#include "operator/kinds/job/template.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIVE_PERIOD_S = 10,
    ALIVE_TIMEOUT_S = 10,
    ALIVE_FAILURES = 4,
    LOST_NODE_S = 60, /* how long a silent node keeps the coordinator; by default 300 */
};

static json_t *environment_of_both(const struct batchscore_spec *spec,
                                   const struct pod_secrets *secrets, const char *pod_name) {
    json_t *environment = pod_environment(&spec->job, spec->work, pod_name);
    pod_secrets_add_variables(&spec->job, secrets, environment);
    return environment;
}

static json_t *container(const struct batchscore_spec *spec, const char *subcommand,
                         json_t *environment_new, json_t *resources_new) {
    return json_pack("{s:s, s:s, s:[s], s:[s], s:o, s:o, s:o, s:s, s:o}", "name", "agent", "image",
                     spec->job.image, "command", "windlass-agent", "args", subcommand, "env",
                     environment_new, "resources", resources_new, "volumeMounts",
                     pod_mounts(&spec->job), "terminationMessagePolicy", "FallbackToLogsOnError",
                     "securityContext", pod_secure());
}

/* Runs the user's program in the user's image, started by our shim, which comes from the agent's
 * image. The program can write only to /tmp. */
static void run_command(const struct batchscore_spec *spec, json_t *pod) {
    json_t *agent = json_array_get(tree_get(pod, "spec.containers"), 0), *value;
    const char *name;
    json_object_set_new(agent, "image",
                        json_string(tree_text(spec->command, "image", spec->job.image)));
    json_object_set_new(agent, "command", json_pack("[s]", POD_FOLDER "/windlass-shim"));
    json_object_foreach(json_object_get(spec->command, "environment"), name, value) {
        pod_add_value(json_object_get(agent, "env"), name, json_string_value(value));
    }
    pod_install_shim(&spec->job, pod);
}

/* Applies the role's settings, and then the user's templates. */
static json_t *finish(const struct batchscore_spec *spec, const struct batchscore_role *role,
                      json_t *pod_new) {
    json_t *pod_spec = json_object_get(pod_new, "spec");
    pod_set_if(pod_spec, "nodeSelector", json_deep_copy(role->node_selector));
    if (spec->queue) {
        owned_queue_pod(pod_new, spec->queue);
    }
    template_apply(pod_new, spec->job.template);
    template_apply(pod_new, role->template);
    return pod_new;
}

/* Its event loop answers within milliseconds unless it hangs; nothing slow runs there. Then the
 * container is killed, and the plan replaces it. By httpGet: a job keeps the agent image that it
 * began with, and every release answers this page; policies never keep a node from its own pods. */
static void add_probe(const struct endpoint *endpoint, json_t *pod) {
    json_t *get = json_pack("{s:s, s:I, s:s}", "path", "/healthz", "port",
                            (json_int_t)endpoint->port, "scheme", "HTTPS");
    json_object_set_new(json_array_get(tree_get(pod, "spec.containers"), 0), "livenessProbe",
                        json_pack("{s:o, s:i, s:i, s:i}", "httpGet", get, "periodSeconds",
                                  ALIVE_PERIOD_S, "timeoutSeconds", ALIVE_TIMEOUT_S,
                                  "failureThreshold", ALIVE_FAILURES));
}

/* The coordinator does not need GPUs, so it prefers nodes without them. As all workers would wait
 * for its replacement, a cluster that consolidates its nodes must not evict it. */
static void place_coordinator(const struct batchscore_spec *spec, json_t *pod_new) {
    static const char *const gpu_labels[] = {"nvidia.com/gpu.present",
                                             "kubernetes.azure.com/accelerator", "accelerator"};
    json_t *pod_spec = json_object_get(pod_new, "spec");
    json_object_set_new(json_object_get(pod_new, "metadata"), "annotations",
                        json_pack("{s:s, s:s}", "cluster-autoscaler.kubernetes.io/safe-to-evict",
                                  "false", "karpenter.sh/do-not-disrupt", "true"));
    pod_set_if(pod_spec, "tolerations", json_deep_copy(spec->coordinator.tolerations));
    if (spec->gpus > 0) {
        json_t *absent = json_array();
        for (size_t i = 0; i < ARRAY_LEN(gpu_labels); i++) {
            json_array_append_new(
                absent, json_pack("{s:s, s:s}", "key", gpu_labels[i], "operator", "DoesNotExist"));
        }
        json_object_set_new(pod_spec, "affinity", pod_prefer(absent));
    }
}

json_t *batchscore_coordinator_pod(const struct batchscore_spec *spec,
                                   const struct endpoint *endpoint, int attempt) {
    AUTO(text_freep) char *name = owned_pod_name(spec->job.name, ROLE_COORDINATOR, NULL, attempt);
    bool v6 = strchr(endpoint->address, ':') != NULL;
    AUTO(text_freep)
    char *bind = x_printf(v6 ? "[$(POD_IP)]:%lld" : "$(POD_IP):%lld", (long long)endpoint->port);
    struct pod_secrets secrets = {.secret = endpoint->secret,
                                  .is_hub = true,
                                  .signing_key = json_object_get(spec->job.json, "signingKey"),
                                  .connection =
                                      tree_get(spec->job.json, "input.table.query.connection")};
    json_t *environment = environment_of_both(spec, &secrets, name);
    pod_add_secret(environment, "WINDLASS_TLS_CERTIFICATE", endpoint->secret, SECRET_CERTIFICATE);
    pod_add_field(environment, "POD_IP", "status.podIP");
    pod_add_value(environment, "WINDLASS_BIND", bind);
    pod_add_read_token(environment, endpoint->read_token);
    pod_add_value(environment, "WINDLASS_UID", tree_text(spec->job.object, "metadata.uid", ""));
    pod_add_origin(environment, &spec->job,
                   json_pack("{s:s, s:s, s:s*}", "coordinator", spec->job.image, "worker",
                             tree_text(spec->command, "image", spec->job.image), "server",
                             tree_text(spec->job.json, "scorer.endpoint.server.image", NULL)));
    pod_add_restart(environment, &spec->job);
    const json_t *resources = spec->coordinator.resources;
    json_t *made = pod_make(&spec->job, name, ROLE_COORDINATOR, attempt,
                            container(spec, "coordinate", environment,
                                      resources ? json_deep_copy(resources) : json_object()));
    pod_secrets_add_files(&spec->job, &secrets, made);
    add_probe(endpoint, made);
    place_coordinator(spec, made);
    return finish(spec, &spec->coordinator, made);
}

void batchscore_add_text(json_t *pod, const char *name, const char *text) {
    const json_t *agent = tree_find(tree_get(pod, "spec.containers"), "name", "agent");
    pod_add_text(json_object_get(agent, "env"), name, text);
}

/* By its key, or with all taints. */
static bool tolerates(const json_t *tolerations, const char *key) {
    for (size_t i = 0; i < json_array_size(tolerations); i++) {
        const char *theirs = tree_text(json_array_get(tolerations, i), "key", "");
        if (!*theirs || strcmp(theirs, key) == 0) {
            return true;
        }
    }
    return false;
}

void batchscore_leave_lost_nodes(json_t *pod) {
    static const char *const keys[] = {"node.kubernetes.io/not-ready",
                                       "node.kubernetes.io/unreachable"};
    json_t *pod_spec = json_object_get(pod, "spec");
    json_t *tolerations = tree_ensure_list(pod_spec, "tolerations");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (!tolerates(tolerations, keys[i])) {
            json_array_append_new(
                tolerations, json_pack("{s:s, s:s, s:s, s:i}", "key", keys[i], "operator", "Exists",
                                       "effect", "NoExecute", "tolerationSeconds", LOST_NODE_S));
        }
    }
}

json_t *batchscore_watch_pod(const struct batchscore_spec *spec, int64_t number, int attempt,
                             const char *mark) {
    AUTO(text_freep) char *index = x_printf("%lld", (long long)number);
    AUTO(text_freep) char *name = owned_pod_name(spec->job.name, ROLE_WATCH, index, attempt);
    json_t *environment = pod_environment(&spec->job, spec->work, name);
    pod_add_value(environment, "WINDLASS_MARK", mark);
    const json_t *resources = spec->coordinator.resources;
    json_t *made = pod_make(&spec->job, name, ROLE_WATCH, attempt,
                            container(spec, "watch", environment,
                                      resources ? json_deep_copy(resources) : json_object()));
    json_t *metadata = json_object_get(made, "metadata");
    json_object_set_new(json_object_get(metadata, "labels"), LABEL_INDEX, json_string(index));
    json_object_set_new(metadata, "annotations",
                        json_pack("{s:s}", ANNOTATION_WATCH, spec->job.hash));
    pod_set_if(json_object_get(made, "spec"), "tolerations",
               json_deep_copy(spec->coordinator.tolerations));
    return finish(spec, &spec->coordinator, made);
}

json_t *batchscore_worker_pod(const struct batchscore_spec *spec, const struct endpoint *endpoint,
                              int index, int attempt) {
    char text[16];
    snprintf(text, sizeof text, "%d", index);
    AUTO(text_freep) char *name = owned_pod_name(spec->job.name, ROLE_WORKER, text, attempt);
    AUTO(text_freep) char *coordinator = pod_authority(endpoint->address, endpoint->port);
    struct pod_secrets secrets = {
        .secret = endpoint->secret,
        .endpoint_key = tree_get(spec->job.json, "scorer.endpoint.key"),
        .client_certificate = tree_get(spec->job.json, "scorer.endpoint.clientCertificate")};
    json_t *environment = environment_of_both(spec, &secrets, name);
    pod_add_value(environment, "WINDLASS_COORDINATOR", coordinator);
    pod_add_value(environment, "WINDLASS_COORDINATOR_SHA256", endpoint->certificate_sha256);
    char gpus[16];
    snprintf(gpus, sizeof gpus, "%d", spec->gpus);
    pod_add_value(environment, "WINDLASS_GPUS", gpus);
    if (spec->spot) {
        pod_add_value(environment, "WINDLASS_EVENTS", POD_EVENTS_URL);
    }
    bool has_server = tree_get(spec->job.json, "scorer.endpoint.server"); /* it uses the GPUs */
    json_t *resources = pod_resources(spec->workers.resources, has_server ? 0 : spec->gpus);
    json_t *made = pod_make(&spec->job, name, ROLE_WORKER, attempt,
                            container(spec, "score", environment, resources));
    json_object_set_new(tree_get(made, "metadata.labels"), LABEL_INDEX, json_string(text));
    if (spec->command) {
        run_command(spec, made);
    }
    pod_secrets_add_files(&spec->job, &secrets, made);
    server_pod_add(spec, made);
    pod_place(made, spec->workers.tolerations, spec->gpus, spec->spot);
    return finish(spec, &spec->workers, made);
}
