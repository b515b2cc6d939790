// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/endpoint/server_pod.h"

#include "operator/kinds/job/pod.h"
#include "operator/kinds/job/pod_volumes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER "server"
#define VOLUME_SERVER "windlass-server"
#define VOLUME_SCRATCH "windlass-server-tmp"
#define VOLUME_SHARED_MEMORY "windlass-server-shm"
#define FOLDER POD_FOLDER "/server"
#define PORT "WINDLASS_PORT"

/* Images are made for root; our user has no entry in /etc/passwd, and a home only here. */
static json_t *environment_of(const struct batchscore_spec *spec, const json_t *server) {
    static const char *const standard[][2] = {{"HOME", "/tmp"}, {"USER", "windlass"}};
    const json_t *given = json_object_get(server, "environment");
    json_t *environment = json_array(), *value;
    const char *name;
    char port[16];
    snprintf(port, sizeof port, "%lld", (long long)tree_integer(server, "port", 0));
    for (size_t i = 0; i < spec->job.volume_count; i++) {
        pod_add_value(environment, spec->job.volumes[i].name, spec->job.volumes[i].mount_path);
    }
    pod_add_value(environment, PORT, port);
    for (size_t i = 0; i < ARRAY_LEN(standard); i++) {
        if (!json_object_get(given, standard[i][0])) {
            pod_add_value(environment, standard[i][0], standard[i][1]);
        }
    }
    json_object_foreach((json_t *)given, name, value) {
        pod_add_value(environment, name, json_string_value(value));
    }
    return environment;
}

/* The job's volumes, which it only reads, and none of the stores' keys. */
static json_t *mounts_of(const struct batchscore_spec *spec) {
    json_t *mounts = json_array();
    for (size_t i = 0; i < spec->job.volume_count; i++) {
        const struct volume *volume = &spec->job.volumes[i];
        json_array_append_new(mounts, json_pack("{s:s, s:s, s:b}", "name", volume->name,
                                                "mountPath", volume->mount_path, "readOnly", 1));
    }
    pod_add_mount(mounts, VOLUME_SERVER, FOLDER);
    pod_add_mount(mounts, VOLUME_SCRATCH, "/tmp");
    pod_add_mount(mounts, VOLUME_SHARED_MEMORY, "/dev/shm");
    return mounts;
}

static json_t *container(const struct batchscore_spec *spec, const json_t *server) {
    json_t *words = json_pack("[s, s, s]", "serve", FOLDER, "--");
    json_array_extend(words, json_object_get(server, "command"));
    json_t *made =
        json_pack("{s:s, s:O, s:[s], s:o, s:o, s:o, s:o, s:s, s:o}", "name", CONTAINER, "image",
                  json_object_get(server, "image"), "command", FOLDER "/windlass-shim", "args",
                  words, "env", environment_of(spec, server), "resources",
                  pod_resources(json_object_get(server, "resources"), spec->gpus), "volumeMounts",
                  mounts_of(spec), "terminationMessagePolicy", "FallbackToLogsOnError",
                  "securityContext", pod_secure());
    return made;
}

void server_pod_add(const struct batchscore_spec *spec, json_t *pod) {
    const json_t *server = tree_get(spec->job.json, "scorer.endpoint.server");
    json_t *containers = tree_get(pod, "spec.containers");
    json_t *agent = json_array_get(containers, 0), *volumes = tree_get(pod, "spec.volumes");
    if (!server) {
        return;
    }
    json_array_append_new(volumes, pod_scratch(VOLUME_SERVER));
    json_array_append_new(volumes, pod_scratch(VOLUME_SCRATCH));
    json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", VOLUME_SHARED_MEMORY,
                                             "emptyDir", "medium", "Memory"));
    pod_add_mount(json_object_get(agent, "volumeMounts"), VOLUME_SERVER, FOLDER);
    pod_add_value(json_object_get(agent, "env"), "WINDLASS_SERVER", FOLDER);
    json_array_append_new(containers, container(spec, server));
    pod_withhold_identity(&spec->job, pod, CONTAINER);
    json_object_set_new(json_object_get(pod, "spec"), "initContainers",
                        json_pack("[o]", pod_installer(&spec->job, VOLUME_SERVER, FOLDER)));
}

bool server_pod_has_port(const json_t *spec) {
    const json_t *server = tree_get(spec, "scorer.endpoint.server");
    return tree_mentions(json_object_get(server, "command"), "$(" PORT ")") ||
           tree_mentions(json_object_get(server, "environment"), "$(" PORT ")");
}
