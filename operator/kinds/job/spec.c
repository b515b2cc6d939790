// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/spec.h"

#include "lib/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const job_volume_fields[] = {
    [VOLUME_PERSISTENT_VOLUME_CLAIM] = "persistentVolumeClaim",
    [VOLUME_BLOBFUSE] = "blobfuse",
    [VOLUME_AZURE_FILE] = "azureFile",
    [VOLUME_NFS] = "nfs",
    [VOLUME_HOST_PATH] = "hostPath",
    [VOLUME_EMPTY_DIR] = "emptyDir",
};
static_assert(ARRAY_LEN(job_volume_fields) == VOLUME_KIND_COUNT, "one field per kind of volume");

/* How a path names a place, and where the spec declares it. Volumes match every path, so they are
 * last. */
static const struct {
    const char *prefix, *list, *key;
} places[] = {{"az://", "stores", "account"},
              {"s3://", "buckets", "name"},
              {"gs://", "buckets", "name"},
              {"", "volumes", "name"}};

const json_t *job_place(const json_t *spec, const char *path) {
    size_t kind = 0;
    while (!text_starts(path, places[kind].prefix)) {
        kind++;
    }
    const char *name = path + strlen(places[kind].prefix);
    size_t length = strcspn(name, "/");
    const json_t *list = json_object_get(spec, places[kind].list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *place = json_array_get(list, i);
        const char *known = tree_text(place, places[kind].key, "");
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            return place;
        }
    }
    return NULL;
}

bool job_is_stored(const char *path) {
    return strstr(path, "://") != NULL;
}

char *job_mount_path(const json_t *volume) {
    const char *given = tree_text(volume, "mountPath", NULL);
    return given ? x_strdup(given) : x_printf("/mnt/%s", tree_text(volume, "name", ""));
}

char *job_stores(const json_t *list) {
    AUTO(tree_freep) json_t *stores = json_deep_copy(list);
    for (size_t i = 0; i < json_array_size(stores); i++) {
        json_t *store = json_array_get(stores, i);
        json_object_del(store, "secretName");
        json_object_set_new(store, "readOnly", json_boolean(tree_bool(store, "readOnly", false)));
    }
    return tree_canonical(stores);
}

static void read_volume(const json_t *json, struct volume *ret_volume) {
    *ret_volume = (struct volume){
        .name = tree_text(json, "name", ""),
        .mount_path = job_mount_path(json),
        .read_only = tree_bool(json, "readOnly", false),
    };
    for (size_t i = 0; i < (size_t)VOLUME_KIND_COUNT; i++) {
        const json_t *source = json_object_get(json, job_volume_fields[i]);
        if (source) {
            ret_volume->kind = (enum volume_kind)i;
            ret_volume->source = source;
        }
    }
}

int job_bounded(const json_t *spec, const char *path, int fallback, int max) {
    int64_t value = tree_integer(spec, path, fallback);
    return (int)MAX(MIN(value, max), 0);
}

/* Removes "a.b" of a tree whose members are shared: what leads to the field is copied. */
static void drop_field(json_t *tree, const char *path) {
    const char *dot = strchr(path, '.');
    if (!dot) {
        json_object_del(tree, path);
        return;
    }
    AUTO(text_freep) char *first = x_strndup(path, (size_t)(dot - path));
    const json_t *shared = json_object_get(tree, first);
    if (json_is_object(shared)) {
        json_t *own = json_copy((json_t *)shared);
        json_object_set_new(tree, first, own);
        drop_field(own, dot + 1);
    }
}

void job_hash(const json_t *spec, const char *const *mutable_fields, char ret_hash[static 65]) {
    AUTO(tree_freep) json_t *what = json_copy((json_t *)spec);
    for (; *mutable_fields; mutable_fields++) {
        drop_field(what, *mutable_fields);
    }
    AUTO(text_freep) char *text = tree_canonical(what);
    digest_sha256(text, strlen(text), ret_hash);
}

void job_run(const json_t *what, char ret_run[static 17]) {
    AUTO(text_freep) char *text = tree_canonical(what);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    memcpy(ret_run, hex, 16);
    ret_run[16] = 0;
}

bool job_lies_below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return text_starts(path, folder) && (path[length] == '/' || path[length] == 0);
}

bool job_mentions(const json_t *tree, const char *name) {
    const char *key;
    json_t *child;
    json_object_foreach((json_t *)tree, key, child) {
        if (job_mentions(child, name)) {
            return true;
        }
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        if (job_mentions(json_array_get(tree, i), name)) {
            return true;
        }
    }
    const char *text = json_string_value(tree);
    AUTO(text_freep) char *reference = x_printf("$(%s)", name);
    return text && (job_lies_below(text, name) || strstr(text, reference));
}

bool job_mentions_bucket(const json_t *tree, const char *name) {
    AUTO(text_freep) char *amazon = x_printf("s3://%s", name);
    AUTO(text_freep) char *google = x_printf("gs://%s", name);
    return job_mentions(tree, amazon) || job_mentions(tree, google);
}

void job_add_endpoints(const json_t *buckets, json_t *what) {
    AUTO(tree_freep) json_t *endpoints = json_object();
    for (size_t i = 0; i < json_array_size(buckets); i++) {
        const json_t *bucket = json_array_get(buckets, i);
        const char *name = tree_text(bucket, "name", "");
        json_t *endpoint = json_object_get(bucket, "endpoint");
        if (endpoint && job_mentions_bucket(what, name)) {
            json_object_set(endpoints, name, endpoint);
        }
    }
    if (json_object_size(endpoints) > 0) {
        json_object_set(what, "buckets", endpoints);
    }
}

int job_spec_read(const json_t *object, const struct job_options *options,
                  struct job_spec *ret_spec, struct error *err) {
    *ret_spec = (struct job_spec){0};
    const json_t *json = json_object_get(object, "spec");
    const json_t *volumes = json_object_get(json, "volumes");
    AUTO(text_freep) char *text = json ? tree_compact(json) : x_strdup("");
    size_t size = strlen(text);
    if (size > JOB_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "spec: %zu bytes of JSON, at most %d are taken", size,
                         JOB_BYTES_MAX);
    }
    if (json_array_size(volumes) > JOB_VOLUMES_MAX) {
        return error_set(err, ERROR_INVALID, "spec.volumes: %zu entries, at most %d are taken",
                         json_array_size(volumes), JOB_VOLUMES_MAX);
    }
    const char *standard = options && options->agent_image ? options->agent_image : JOB_AGENT_IMAGE;
    *ret_spec = (struct job_spec){
        .object = object,
        .name = tree_text(object, "metadata.name", ""),
        .namespace = tree_text(object, "metadata.namespace", "default"),
        .generation = tree_integer(object, "metadata.generation", 0),
        .json = json,
        .image = tree_text(json, "image", standard),
        .is_image_given = json_object_get(json, "image") != NULL,
        .stores = json_object_get(json, "stores"),
        .buckets = json_object_get(json, "buckets"),
        .service_account = tree_text(json, "serviceAccountName", NULL),
        .priority_class = tree_text(json, "priorityClassName", NULL),
        .image_pull_secrets = json_object_get(json, "imagePullSecrets"),
        .template = json_object_get(json, "template"),
        .logs_json = options && options->logs_json,
        .secret_files = options && options->secret_files,
        .sandbox = options ? options->sandbox : NULL,
        .suspend = tree_bool(json, "suspend", false),
        .active_deadline_seconds = MAX(tree_integer(json, "activeDeadlineSeconds", 0), 0),
        .ttl_seconds_after_finished = MAX(tree_integer(json, "ttlSecondsAfterFinished", -1), -1),
    };
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        read_volume(json_array_get(volumes, i), &ret_spec->volumes[ret_spec->volume_count++]);
    }
    return 0;
}

void job_spec_release(struct job_spec *spec) {
    for (size_t i = 0; i < spec->volume_count; i++) {
        free(spec->volumes[i].mount_path);
    }
    *spec = (struct job_spec){0};
}

/* The fields that identify a volume of that kind. Names of claims and Secrets are unique only in
 * their namespace. */
static const struct {
    const char *fields[3];
    bool in_namespace;
} identities[] = {
    [VOLUME_PERSISTENT_VOLUME_CLAIM] = {{"claimName"}, true},
    [VOLUME_BLOBFUSE] = {{"account", "container", "secretName"}, true},
    [VOLUME_AZURE_FILE] = {{"shareName", "secretName"}, true},
    [VOLUME_NFS] = {{"server", "path"}, false},
    [VOLUME_HOST_PATH] = {{"path"}, false},
    [VOLUME_EMPTY_DIR] = {{NULL}, false},
};
static_assert(ARRAY_LEN(identities) == VOLUME_KIND_COUNT, "one row per kind of volume");

json_t *job_volume_identity(const struct job_spec *spec, const struct volume *volume,
                            const json_t *folders) {
    json_t *folder = json_object_get(folders, volume->name);
    if (folder) {
        return json_pack("{s:O}", "folder", folder);
    }
    json_t *identity = json_pack("{s:s}", "kind", job_volume_fields[volume->kind]);
    for (size_t i = 0; i < ARRAY_LEN(identities[0].fields); i++) {
        const char *field = identities[volume->kind].fields[i];
        json_t *value = field ? json_object_get(volume->source, field) : NULL;
        if (value) {
            json_object_set(identity, field, value);
        }
    }
    if (identities[volume->kind].in_namespace && !json_object_get(volume->source, "clientID")) {
        json_object_set_new(identity, "namespace", json_string(spec->namespace));
    }
    return identity;
}
