// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/pods.h"

#include "operator/cluster.h"
#include "operator/kinds/disttrain/gang_scheduler.h"
#include "operator/kinds/disttrain/kueue.h"
#include "operator/kinds/job/guard/pod_secrets.h"
#include "operator/kinds/job/pod.h"
#include "operator/kinds/job/pod_volumes.h"
#include "operator/kinds/job/template.h"

#include <stdio.h>
#include <string.h>

#define VOLUME_SHARED_MEMORY "windlass-shm"
#define VOLUME_PASSWD "windlass-passwd"

/* The agent answers within seconds unless it hangs; then its container is killed and replaced. */
enum { ALIVE_PERIOD_S = 10, ALIVE_TIMEOUT_S = 5, ALIVE_FAILURES = 3, GRACE_MAX_S = 86400 };

static void add_number(json_t *environment, const char *name, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    pod_add_value(environment, name, text);
}

static void add_hub(const struct disttrain_spec *spec, const struct endpoint *endpoint,
                    const struct restarts *restarts, json_t *environment) {
    bool v6 = strchr(endpoint->address, ':') != NULL;
    AUTO(text_freep)
    char *bind = x_printf(v6 ? "[$(POD_IP)]:%lld" : "$(POD_IP):%lld", (long long)endpoint->port);
    pod_add_secret(environment, "WINDLASS_TLS_CERTIFICATE", endpoint->secret, SECRET_CERTIFICATE);
    pod_add_value(environment, "WINDLASS_BIND", bind);
    pod_add_read_token(environment, endpoint->read_token);
    pod_add_value(environment, "WINDLASS_UID", tree_text(spec->job.object, "metadata.uid", ""));
    pod_add_origin(environment, &spec->job,
                   json_pack("{s:s, s:s*}", "agent", spec->job.image, "program",
                             spec->command ? spec->program_image : NULL));
    pod_add_restart(environment, &spec->job);
    add_number(environment, "WINDLASS_RESTARTS", restarts->counted);
    if (restarts->since < restarts->counted) {
        add_number(environment, "WINDLASS_FORGIVEN", restarts->counted - restarts->since);
    }
    add_number(environment, "WINDLASS_DISRUPTED", restarts->disrupted);
    if (restarts->last_end) {
        pod_add_value(environment, "WINDLASS_LAST_END", restarts->last_end);
    }
    if (restarts->finishes > 0) {
        pod_add_value(environment, "WINDLASS_FINISHES", "1");
    }
    if (restarts->objective && json_object_get(spec->job.json, "metrics")) {
        AUTO(text_freep) char *objective = json_dumps(restarts->objective, JSON_COMPACT);
        pod_add_value(environment, "WINDLASS_OBJECTIVE", objective);
    }
}

static void add_member(const struct endpoint *endpoint, json_t *environment) {
    AUTO(text_freep) char *hub = pod_authority(endpoint->address, endpoint->port);
    pod_add_value(environment, "WINDLASS_HUB", hub);
    pod_add_value(environment, "WINDLASS_HUB_SHA256", endpoint->certificate_sha256);
}

static struct pod_secrets secrets_of(const struct disttrain_spec *spec,
                                     const struct endpoint *endpoint, int index) {
    return (struct pod_secrets){
        .secret = endpoint->secret,
        .is_hub = index == 0,
        .signing_key = index == 0 ? json_object_get(spec->job.json, "signingKey") : NULL};
}

/* Our variables, then the user's, which may refer to volumes. */
static json_t *environment_of(const struct disttrain_spec *spec, const struct endpoint *endpoint,
                              const char *pod_name, int index, int attempt,
                              const struct restarts *restarts) {
    json_t *environment = pod_environment(&spec->job, spec->work, pod_name), *value;
    const char *name;
    struct pod_secrets secrets = secrets_of(spec, endpoint, index);
    pod_secrets_add_variables(&spec->job, &secrets, environment);
    add_number(environment, "WINDLASS_INDEX", index);
    add_number(environment, "WINDLASS_ATTEMPT", attempt);
    pod_add_field(environment, "POD_IP", "status.podIP");
    if (index == 0) {
        add_hub(spec, endpoint, restarts, environment);
    } else {
        add_member(endpoint, environment);
        if (restarts->is_memory) {
            pod_add_value(environment, "WINDLASS_BEFORE", "OutOfMemory");
        }
    }
    if (spec->spot) {
        pod_add_value(environment, "WINDLASS_EVENTS", POD_EVENTS_URL);
    }
    json_object_foreach((json_t *)spec->environment, name, value) {
        pod_add_value(environment, name, json_string_value(value));
    }
    for (size_t i = 0; i < json_array_size(spec->secrets); i++) {
        const json_t *secret = json_array_get(spec->secrets, i);
        pod_add_secret(environment, tree_text(secret, "name", ""),
                       tree_text(secret, "secretName", ""), tree_text(secret, "key", ""));
    }
    return environment;
}

/* A pod that only stores what others have computed needs no devices, and must not wait for them;
 * but with a gang scheduler all pods keep the shape of their group. */
static json_t *resources_of(const struct disttrain_spec *spec, const struct restarts *restarts) {
    static const char *const lists[] = {"requests", "limits"};
    if (restarts->finishes == 0 || spec->gang != GANG_NONE) {
        return pod_resources(spec->resources, spec->gpus);
    }
    json_t *resources = pod_resources(spec->resources, 0);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_t *list = json_object_get(resources, lists[i]), *amount;
        const char *name;
        void *next;
        json_object_foreach_safe(list, next, name, amount) {
            if (strchr(name, '/')) { /* "rdma/hca", unlike "cpu" and "memory" */
                json_object_del(list, name);
            }
        }
    }
    return resources;
}

static json_t *container(const struct disttrain_spec *spec, const struct restarts *restarts,
                         json_t *environment_new) {
    const char *program = spec->command ? POD_FOLDER "/windlass-shim" : "windlass-trainer";
    const char *image = spec->command ? spec->program_image : spec->job.image;
    json_t *probe = json_pack("{s:{s:[s, s]}, s:i, s:i, s:i}", "exec", "command", program, "alive",
                              "periodSeconds", ALIVE_PERIOD_S, "timeoutSeconds", ALIVE_TIMEOUT_S,
                              "failureThreshold", ALIVE_FAILURES);
    return json_pack("{s:s, s:s, s:[s], s:[s], s:o, s:o, s:o, s:s, s:o, s:o}", "name", "agent",
                     "image", image, "command", program, "args", "launch", "env", environment_new,
                     "resources", resources_of(spec, restarts), "volumeMounts",
                     pod_mounts(&spec->job), "terminationMessagePolicy", "FallbackToLogsOnError",
                     "securityContext", pod_secure(), "livenessProbe", probe);
}

static void add_shared_memory(const struct disttrain_spec *spec, json_t *pod) {
    json_t *agent = json_array_get(tree_get(pod, "spec.containers"), 0);
    json_t *volume = json_pack("{s:s, s:{s:s, s:s}}", "name", VOLUME_SHARED_MEMORY, "emptyDir",
                               "medium", "Memory", "sizeLimit", spec->shared_memory);
    json_array_append_new(tree_get(pod, "spec.volumes"), volume);
    pod_add_mount(json_object_get(agent, "volumeMounts"), VOLUME_SHARED_MEMORY, "/dev/shm");
}

/* ---- the program's user ---- */

static const json_t *find_agent(const json_t *pod) {
    return tree_find(tree_get(pod, "spec.containers"), "name", "agent");
}

/* The user that the agent runs as, templates included; -1: only the image defines it. */
static int64_t run_as(const json_t *pod, const char *field) {
    AUTO(text_freep) char *path = x_printf("securityContext.%s", field);
    int64_t own = tree_integer(find_agent(pod), path, -1);
    return own >= 0 ? own : tree_integer(json_object_get(pod, "spec"), path, -1);
}

/* Programs look up their user (without an entry Open MPI 4 ends and Python's getpass fails), and
 * images do not have our user. The shell is bash, whether it is installed or not: for bash Open MPI
 * sends plain words, which we split ourselves. The file is omitted when a template removes the user
 * or mounts its own. */
static void add_passwd(json_t *pod) {
    static const char *const others = "root:x:0:0:root:/root:/bin/bash\n"
                                      "nobody:x:65534:65534:nobody:/nonexistent:/bin/bash\n";
    json_t *agent = (json_t *)find_agent(pod);
    json_t *mounts = json_object_get(agent, "volumeMounts");
    int64_t user = run_as(pod, "runAsUser"), group = run_as(pod, "runAsGroup");
    if (user < 0 || tree_find(mounts, "mountPath", "/etc/passwd")) {
        return;
    }
    bool is_known = user == 0 || user == 65534;
    AUTO(text_freep)
    char *line = x_printf("windlass:x:%lld:%lld:windlass:/tmp:/bin/bash\n", (long long)user,
                          (long long)MAX(group, 0));
    AUTO(text_freep) char *text = x_printf("%s%s", others, is_known ? "" : line);
    json_object_set_new(tree_get(pod, "metadata.annotations"), ANNOTATION_PASSWD,
                        json_string(text));
    json_array_append_new(tree_get(pod, "spec.volumes"),
                          json_pack("{s:s, s:{s:[{s:s, s:{s:s}}]}}", "name", VOLUME_PASSWD,
                                    "downwardAPI", "items", "path", "passwd", "fieldRef",
                                    "fieldPath", "metadata.annotations['" ANNOTATION_PASSWD "']"));
    json_array_append_new(mounts,
                          json_pack("{s:s, s:s, s:s, s:b}", "name", VOLUME_PASSWD, "mountPath",
                                    "/etc/passwd", "subPath", "passwd", "readOnly", true));
}

/* A pod cannot read the time between its SIGTERM and SIGKILL, so a variable has it. */
static void add_grace(json_t *pod) {
    const json_t *grace = tree_get(pod, "spec.terminationGracePeriodSeconds");
    if (json_is_integer(grace)) {
        add_number(json_object_get(find_agent(pod), "env"), "WINDLASS_GRACE",
                   MIN(MAX(json_integer_value(grace), 1), GRACE_MAX_S));
    }
}

char *disttrain_member_name(const char *job, int index, int attempt) {
    char text[16];
    snprintf(text, sizeof text, "%d", index);
    return owned_pod_name(job, /* part= */ NULL, text, attempt);
}

json_t *disttrain_member_pod(const struct disttrain_spec *spec, const struct endpoint *endpoint,
                             int index, int attempt, const struct restarts *restarts,
                             const char *group) {
    AUTO(text_freep) char *first = group ? NULL : kueue_new_group(spec, 1);
    AUTO(text_freep) char *name = disttrain_member_name(spec->job.name, index, attempt);
    json_t *environment = environment_of(spec, endpoint, name, index, attempt, restarts);
    json_t *pod =
        pod_make(&spec->job, name, ROLE_MEMBER, attempt, container(spec, restarts, environment));
    json_t *metadata = json_object_get(pod, "metadata");
    char text[16];
    snprintf(text, sizeof text, "%d", index);
    json_object_set_new(json_object_get(metadata, "labels"), LABEL_INDEX, json_string(text));
    /* The end of one pod stops all the others, so a cluster that consolidates its nodes must not
     * evict it. */
    json_object_set_new(metadata, "annotations",
                        json_pack("{s:s, s:s}", "cluster-autoscaler.kubernetes.io/safe-to-evict",
                                  "false", "karpenter.sh/do-not-disrupt", "true"));
    if (index == 0 && restarts->finishes > 0) {
        json_object_set_new(json_object_get(metadata, "annotations"), ANNOTATION_FINISHES,
                            json_sprintf("%d", restarts->finishes));
    }
    if (spec->command) {
        pod_install_shim(&spec->job, pod);
    } else {
        pod_add_folders(pod);
    }
    struct pod_secrets secrets = secrets_of(spec, endpoint, index);
    pod_secrets_add_files(&spec->job, &secrets, pod);
    if (spec->shared_memory) {
        add_shared_memory(spec, pod);
    }
    pod_place(pod, spec->tolerations, spec->gpus, spec->spot);
    pod_set_if(json_object_get(pod, "spec"), "nodeSelector", json_deep_copy(spec->node_selector));
    gang_scheduler_mark(spec, group ? group : first, pod);
    template_apply(pod, spec->job.template);
    add_passwd(pod);
    add_grace(pod);
    return pod;
}

int disttrain_first_pods(const json_t *object, const struct endpoint *endpoint, json_t **ret_pods,
                         struct error *err) {
    static const struct restarts none = {0};
    static const struct job_options on_a_cluster = {.secret_files = true};
    AUTO(disttrain_spec_release) struct disttrain_spec spec = {0};
    if (disttrain_spec_read(object, &on_a_cluster, &spec, err) < 0) {
        return -1;
    }
    *ret_pods = json_pack("[o]", disttrain_member_pod(&spec, endpoint, 0, 1, &none, NULL));
    if (spec.workers > 1) {
        json_array_append_new(*ret_pods, disttrain_member_pod(&spec, endpoint, 1, 1, &none, NULL));
    }
    return 0;
}
