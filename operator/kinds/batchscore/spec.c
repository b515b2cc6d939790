// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/spec.h"

#include "lib/digest.h"
#include "operator/kinds/batchscore/work.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const batchscore_volume_fields[] = {
    [VOLUME_PERSISTENT_VOLUME_CLAIM] = "persistentVolumeClaim",
    [VOLUME_BLOBFUSE] = "blobfuse",
    [VOLUME_AZURE_FILE] = "azureFile",
    [VOLUME_NFS] = "nfs",
    [VOLUME_HOST_PATH] = "hostPath",
    [VOLUME_EMPTY_DIR] = "emptyDir",
};
static_assert(ARRAY_LEN(batchscore_volume_fields) == VOLUME_KIND_COUNT,
              "one field per kind of volume");

/* What may change while the job runs: the rule at the root of the definition has all others. */
static const char *const mutable_fields[] = {"suspend", "activeDeadlineSeconds",
                                             "ttlSecondsAfterFinished"};
static const char *const mutable_worker_fields[] = {"min", "max"};

const char *const batchscore_path_fields[] = {"input.video.path",
                                              "input.files.path",
                                              "input.files.manifest",
                                              "input.table.path",
                                              "input.npy.path",
                                              "scorer.onnx.path",
                                              "scorer.onnx.postprocess.labels",
                                              "output.path",
                                              "logs.path",
                                              "trigger.path",
                                              NULL};

const json_t *batchscore_place(const json_t *spec, const char *path) {
    bool is_store = text_starts(path, "az://");
    const char *name = is_store ? path + strlen("az://") : path;
    size_t length = strcspn(name, "/");
    const json_t *list = json_object_get(spec, is_store ? "stores" : "volumes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *place = json_array_get(list, i);
        const char *known = tree_text(place, is_store ? "account" : "name", "");
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return place;
        }
    }
    return NULL;
}

char *batchscore_mount_path(const json_t *volume) {
    const char *given = tree_text(volume, "mountPath", NULL);
    return given ? x_strdup(given) : x_printf("/mnt/%s", tree_text(volume, "name", ""));
}

enum output_mode batchscore_mode(const json_t *spec) {
    const char *given = tree_text(spec, "output.mode", NULL);
    for (int i = 0; given && i < OUTPUT_MODE_COUNT; i++) {
        if (strcmp(given, work_modes[i]) == 0) {
            return (enum output_mode)i;
        }
    }
    bool rows = tree_get(spec, "input.table") || tree_get(spec, "input.npy");
    return rows ? OUTPUT_APPEND_ROW : OUTPUT_PER_FILE;
}

bool batchscore_excludes(const json_t *spec) {
    const char *path = tree_text(spec, "output.path", "");
    return !json_object_get(batchscore_place(spec, path), "blobfuse");
}

const char *batchscore_unit(const json_t *spec) {
    static const char *const units[][2] = {
        {"video", "frames"}, {"table", "rows"}, {"npy", "slices"}};
    const json_t *input = json_object_get(spec, "input");
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (json_object_get(input, units[i][0])) {
            return units[i][1];
        }
    }
    return "files";
}

static void read_volume(const json_t *json, struct volume *ret_volume) {
    *ret_volume = (struct volume){
        .name = tree_text(json, "name", ""),
        .mount_path = batchscore_mount_path(json),
        .read_only = tree_bool(json, "readOnly", false),
    };
    for (size_t i = 0; i < (size_t)VOLUME_KIND_COUNT; i++) {
        const json_t *source = json_object_get(json, batchscore_volume_fields[i]);
        if (source) {
            ret_volume->kind = (enum volume_kind)i;
            ret_volume->source = source;
        }
    }
}

/* The schema has bounded them; an object that came around it must not make us allocate by them. */
static int bounded(const json_t *spec, const char *path, int fallback, int max) {
    int64_t value = tree_integer(spec, path, fallback);
    return (int)MAX(MIN(value, max), 0);
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
        .command = tree_get(json, "scorer.command"),
        .stores = json_object_get(json, "stores"),
        .work = work_of(json),
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
    work_run(ret_spec, options ? options->folders : NULL, ret_spec->run);
    hash_fixed(json, ret_spec->hash);
    return 0;
}

void batchscore_spec_release(struct batchscore_spec *spec) {
    for (size_t i = 0; i < spec->volume_count; i++) {
        free(spec->volumes[i].mount_path);
    }
    json_decref(spec->work);
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
