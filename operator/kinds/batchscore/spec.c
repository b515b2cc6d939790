// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/spec.h"

#include "lib/digest.h"
#include "operator/kinds/batchscore/template.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define UNDECLARED "names a volume that spec.volumes does not declare (a path is VOLUME/path/in/it)"

static const char *const volume_fields[] = {
    [VOLUME_PERSISTENT_VOLUME_CLAIM] = "persistentVolumeClaim",
    [VOLUME_BLOBFUSE] = "blobfuse",
    [VOLUME_AZURE_FILE] = "azureFile",
    [VOLUME_NFS] = "nfs",
    [VOLUME_HOST_PATH] = "hostPath",
    [VOLUME_EMPTY_DIR] = "emptyDir",
};
static_assert(ARRAY_LEN(volume_fields) == VOLUME_KIND_COUNT, "one field per kind of volume");

/* What may change while the job runs: the rule at the root of the definition has all others. */
static const char *const mutable_fields[] = {"suspend", "activeDeadlineSeconds",
                                             "ttlSecondsAfterFinished"};
static const char *const mutable_worker_fields[] = {"min", "max"};

/* Every field that holds a path VOLUME/path/in/it. */
static const char *const path_fields[] = {
    "input.video.path", "input.files.path", "scorer.onnx.path", "scorer.onnx.postprocess.labels",
    "output.path",
};

static bool lies_in(const char *path, const char *volume) {
    size_t length = strlen(volume);
    return text_starts(path, volume) && (path[length] == '/' || path[length] == 0);
}

static bool has_parent_part(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2) {
        bool starts = at == path || at[-1] == '/';
        if (starts && (at[2] == '/' || at[2] == 0)) {
            return true;
        }
    }
    return false;
}

static const json_t *volume_of(const json_t *spec, const char *path) {
    const json_t *volumes = json_object_get(spec, "volumes");
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        if (lies_in(path, tree_text(volume, "name", ""))) {
            return volume;
        }
    }
    return NULL;
}

static int check_paths(const json_t *spec, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(path_fields); i++) {
        const char *path = tree_text(spec, path_fields[i], NULL);
        if (path && has_parent_part(path)) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: a part .. is refused, a path stays in its volume",
                             path_fields[i]);
        }
        const json_t *volume = path ? volume_of(spec, path) : NULL;
        if (path && !volume) {
            return error_set(err, ERROR_INVALID, "spec.%s: " UNDECLARED, path_fields[i]);
        }
        if (json_object_get(volume, "emptyDir")) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: lies in an emptyDir, of which every pod has its own; use a "
                             "volume that all pods see",
                             path_fields[i]);
        }
    }
    return 0;
}

static int check_output(const json_t *spec, struct error *err) {
    const char *output = tree_text(spec, "output.path", "");
    if (tree_bool(volume_of(spec, output), "readOnly", false)) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: lies in a volume with readOnly: true; outputs need a "
                         "volume that can be written");
    }
    const char *input = tree_text(spec, "input.files.path", NULL);
    if (input && lies_in(output, input)) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: lies in the input folder, where results would be "
                         "taken for inputs; choose a folder beside it");
    }
    return 0;
}

static char *mount_path(const json_t *volume) {
    const char *given = tree_text(volume, "mountPath", NULL);
    return given ? x_strdup(given) : x_printf("/mnt/%s", tree_text(volume, "name", ""));
}

static int check_blobfuse(const json_t *blobfuse, size_t index, struct error *err) {
    bool secret = json_object_get(blobfuse, "secretName") != NULL;
    bool identity = json_object_get(blobfuse, "clientID") != NULL;
    bool account = json_object_get(blobfuse, "account") != NULL;
    if (secret == identity) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse: exactly one of secretName and clientID must "
                         "be given",
                         index);
    }
    if (identity && !account) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse: account must be given with clientID", index);
    }
    if (secret && account) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse.account: is not read with secretName: the "
                         "Secret's azurestorageaccountname names it",
                         index);
    }
    if (secret && json_object_get(blobfuse, "resourceGroup")) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse.resourceGroup: belongs to clientID; with "
                         "secretName nobody asks for it",
                         index);
    }
    return 0;
}

static bool asks_for_gpus(const json_t *workers, const char *list) {
    return json_object_get(tree_get(workers, list), "nvidia.com/gpu") != NULL;
}

static int check_coordinator(const json_t *coordinator, struct error *err) {
    if (asks_for_gpus(coordinator, "resources.limits") ||
        asks_for_gpus(coordinator, "resources.requests")) {
        return error_set(err, ERROR_INVALID,
                         "spec.coordinator.resources: the coordinator uses no GPU; take "
                         "nvidia.com/gpu out");
    }
    return 0;
}

static int check_volume(const json_t *volume, size_t index, struct error *err) {
    int sources = 0;
    for (size_t i = 0; i < ARRAY_LEN(volume_fields); i++) {
        sources += json_object_get(volume, volume_fields[i]) != NULL;
    }
    if (sources != 1) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu]: exactly one of persistentVolumeClaim, blobfuse, "
                         "azureFile, nfs, hostPath and emptyDir must be given",
                         index);
    }
    static const char *const paths[] = {"mountPath", "hostPath.path", "nfs.path"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (has_parent_part(tree_text(volume, paths[i], ""))) {
            return error_set(err, ERROR_INVALID, "spec.volumes[%zu].%s: a part .. is refused",
                             index, paths[i]);
        }
    }
    const json_t *blobfuse = json_object_get(volume, "blobfuse");
    return blobfuse ? check_blobfuse(blobfuse, index, err) : 0;
}

static int check_volumes(const json_t *volumes, struct error *err) {
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        if (check_volume(volume, i, err) < 0) {
            return -1;
        }
        AUTO(text_freep) char *mount = mount_path(volume);
        for (size_t k = 0; k < i; k++) {
            AUTO(text_freep) char *other = mount_path(json_array_get(volumes, k));
            if (strcmp(mount, other) == 0) {
                return error_set(err, ERROR_INVALID,
                                 "spec.volumes: two volumes have the same mountPath");
            }
        }
    }
    return 0;
}

static int check_identity(const json_t *spec, struct error *err) {
    const json_t *volumes = json_object_get(spec, "volumes");
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        if (tree_get(json_array_get(volumes, i), "blobfuse.clientID") &&
            !json_object_get(spec, "serviceAccountName")) {
            return error_set(err, ERROR_INVALID,
                             "spec.serviceAccountName: must be given for a volume with "
                             "blobfuse.clientID, the service account that the identity is "
                             "federated with");
        }
    }
    return 0;
}

static int check_workers(const json_t *workers, struct error *err) {
    if (tree_integer(workers, "min", 0) > tree_integer(workers, "max", 0)) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.min: is more than workers.max; raise max or lower min");
    }
    if (asks_for_gpus(workers, "resources.limits") ||
        asks_for_gpus(workers, "resources.requests")) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.resources: nvidia.com/gpu is set by workers.gpus; take it "
                         "out of resources");
    }
    return 0;
}

int batchscore_check(const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    const json_t *input = json_object_get(spec, "input");
    if (!json_object_get(input, "video") == !json_object_get(input, "files")) {
        return error_set(err, ERROR_INVALID,
                         "spec.input: exactly one of video and files must be given");
    }
    const json_t *postprocess = tree_get(spec, "scorer.onnx.postprocess");
    if (json_object_get(postprocess, "labels") &&
        strcmp(tree_text(postprocess, "type", ""), "Classes") != 0) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.postprocess.labels: labels belong to type: Classes");
    }
    if (check_workers(json_object_get(spec, "workers"), err) < 0 ||
        check_coordinator(json_object_get(spec, "coordinator"), err) < 0 ||
        check_volumes(json_object_get(spec, "volumes"), err) < 0 || check_paths(spec, err) < 0 ||
        check_output(spec, err) < 0 || check_identity(spec, err) < 0) {
        return -1;
    }
    return template_check(spec, err);
}

static void read_volume(const json_t *json, struct volume *ret_volume) {
    *ret_volume = (struct volume){
        .name = tree_text(json, "name", ""),
        .mount_path = mount_path(json),
        .read_only = tree_bool(json, "readOnly", false),
    };
    for (size_t i = 0; i < ARRAY_LEN(volume_fields); i++) {
        const json_t *source = json_object_get(json, volume_fields[i]);
        if (source) {
            ret_volume->kind = (enum volume_kind)i;
            ret_volume->source = source;
        }
    }
}

/* "8" and 8 are the same. */
static int mini_batch_size(const json_t *spec) {
    const char *text = tree_text(spec, "miniBatchSize", NULL);
    int64_t size = text ? strtol(text, NULL, 10) : tree_integer(spec, "miniBatchSize", 0);
    return (int)MAX(MIN(size, 100000), 1);
}

/* The schema has bounded them; an object that came around it must not make us allocate by them. */
static int bounded(const json_t *spec, const char *path, int fallback, int max) {
    int64_t value = tree_integer(spec, path, fallback);
    return (int)MAX(MIN(value, max), 0);
}

/* Two runs with the same hash make the same mini-batches with the same results. */
static void hash_run(const json_t *spec, int size, char run[static 17]) {
    AUTO(tree_freep)
    json_t *what = json_pack("{s:O?, s:O?, s:i, s:O?}", "input", json_object_get(spec, "input"),
                             "scorer", json_object_get(spec, "scorer"), "miniBatchSize", size,
                             "output", json_object_get(spec, "output"));
    AUTO(text_freep) char *text = tree_canonical(what);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    memcpy(run, hex, 16);
    run[16] = 0;
}

static void hash_fixed(const json_t *spec, char hash[static 65]) {
    AUTO(tree_freep) json_t *what = json_deep_copy(spec);
    for (size_t i = 0; i < ARRAY_LEN(mutable_fields); i++) {
        json_object_del(what, mutable_fields[i]);
    }
    json_t *workers = json_object_get(what, "workers");
    for (size_t i = 0; i < ARRAY_LEN(mutable_worker_fields); i++) {
        json_object_del(workers, mutable_worker_fields[i]);
    }
    AUTO(text_freep) char *text = tree_canonical(what);
    digest_sha256(text, strlen(text), hash);
}

static struct batchscore_role read_role(const json_t *role) {
    return (struct batchscore_role){
        .resources = json_object_get(role, "resources"),
        .node_selector = json_object_get(role, "nodeSelector"),
        .tolerations = json_object_get(role, "tolerations"),
        .template = json_object_get(role, "template"),
    };
}

/* What the pods are like, beyond their numbers. */
static void read_pods(const json_t *json, const struct batchscore_options *options,
                      struct batchscore_spec *spec) {
    const char *standard =
        options && options->agent_image ? options->agent_image : BATCHSCORE_AGENT_IMAGE;
    spec->image = tree_text(json, "image", standard);
    spec->spot = tree_bool(json, "workers.spot", false);
    spec->workers = read_role(json_object_get(json, "workers"));
    spec->coordinator = read_role(json_object_get(json, "coordinator"));
    spec->service_account = tree_text(json, "serviceAccountName", NULL);
    spec->priority_class = tree_text(json, "priorityClassName", NULL);
    spec->image_pull_secrets = json_object_get(json, "imagePullSecrets");
    spec->template = json_object_get(json, "template");
}

int batchscore_spec_read(const json_t *object, const struct batchscore_options *options,
                         struct batchscore_spec *ret_spec, struct error *err) {
    *ret_spec = (struct batchscore_spec){0};
    if (batchscore_check(object, err) < 0) {
        return -1;
    }
    const json_t *json = json_object_get(object, "spec");
    const json_t *volumes = json_object_get(json, "volumes");
    AUTO(text_freep) char *text = tree_canonical(json);
    if (strlen(text) > SPEC_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "spec: %zu bytes of JSON, at most %d are taken",
                         strlen(text), SPEC_BYTES_MAX);
    }
    if (json_array_size(volumes) > SPEC_VOLUMES_MAX) {
        return error_set(err, ERROR_INVALID, "spec.volumes: %zu entries, at most %d are taken",
                         json_array_size(volumes), SPEC_VOLUMES_MAX);
    }
    *ret_spec = (struct batchscore_spec){
        .object = object,
        .name = tree_text(object, "metadata.name", ""),
        .namespace = tree_text(object, "metadata.namespace", "default"),
        .generation = tree_integer(object, "metadata.generation", 0),
        .json = json,
        .output_path = tree_text(json, "output.path", ""),
        .mini_batch_size = mini_batch_size(json),
        .max_tries = bounded(json, "retry.maxTries", 3, 100),
        .timeout_seconds = bounded(json, "retry.timeoutSeconds", 60, 86400),
        .workers_min = bounded(json, "workers.min", 1, SPEC_WORKERS_MAX),
        .workers_max = MAX(bounded(json, "workers.max", 1, SPEC_WORKERS_MAX), 1),
        .gpus = bounded(json, "workers.gpus", 0, 16),
        .suspend = tree_bool(json, "suspend", false),
        .active_deadline_seconds = MAX(tree_integer(json, "activeDeadlineSeconds", 0), 0),
        .ttl_seconds_after_finished = MAX(tree_integer(json, "ttlSecondsAfterFinished", -1), -1),
    };
    read_pods(json, options, ret_spec);
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        read_volume(json_array_get(volumes, i), &ret_spec->volumes[ret_spec->volume_count++]);
    }
    hash_run(json, ret_spec->mini_batch_size, ret_spec->run);
    hash_fixed(json, ret_spec->hash);
    return 0;
}

void batchscore_spec_release(struct batchscore_spec *spec) {
    for (size_t i = 0; i < spec->volume_count; i++) {
        free(spec->volumes[i].mount_path);
    }
    *spec = (struct batchscore_spec){0};
}

const struct volume *batchscore_spec_volume(const struct batchscore_spec *spec, const char *name) {
    for (size_t i = 0; i < spec->volume_count; i++) {
        if (strcmp(spec->volumes[i].name, name) == 0) {
            return &spec->volumes[i];
        }
    }
    return NULL;
}
