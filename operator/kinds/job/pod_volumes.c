// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/pod_volumes.h"

#include <stdlib.h>

/* The agent reads it through its group (fsGroup); the files are read-only. */
enum { SECRET_MODE = 0440 };

/* A Secret with the keys of a store or bucket: its volume, and the folder where it is mounted. */
struct keys {
    const json_t *place;
    char *volume, *folder;
};

/* The index-th store or, behind the stores, bucket of a spec. False: it has no Secret. */
static bool find_keys(const struct job_spec *spec, size_t index, struct keys *ret_keys) {
    size_t stores = json_array_size(spec->stores);
    bool is_bucket = index >= stores;
    const json_t *place = json_array_get(is_bucket ? spec->buckets : spec->stores,
                                         is_bucket ? index - stores : index);
    const char *name = tree_text(place, is_bucket ? "name" : "account", "");
    if (!json_object_get(place, "secretName")) {
        return false;
    }
    *ret_keys =
        (struct keys){.place = place,
                      /* A bucket's name can have dots and be too long for a volume's. */
                      .volume = is_bucket ? x_printf("windlass-bucket-%zu", index - stores)
                                          : x_printf("windlass-store-%s", name),
                      .folder = x_printf(is_bucket ? POD_STORES "/s3-%s" : POD_STORES "/%s", name)};
    return true;
}

static size_t count_places(const struct job_spec *spec) {
    return json_array_size(spec->stores) + json_array_size(spec->buckets);
}

static void keys_release(struct keys *keys) {
    free(keys->volume);
    free(keys->folder);
}

json_t *pod_mounts(const struct job_spec *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        const struct volume *volume = &spec->volumes[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", volume->name, "mountPath",
                                              volume->mount_path, "readOnly", volume->read_only));
    }
    for (size_t i = 0; i < count_places(spec); i++) {
        AUTO(keys_release) struct keys keys = {0};
        if (find_keys(spec, i, &keys)) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", keys.volume,
                                                  "mountPath", keys.folder, "readOnly", 1));
        }
    }
    return list;
}

/* The options of a mount as one text; "" when there are none. */
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

/* The driver reads an inline volume's Secret by name, from the pod's namespace, and takes the
 * account's name from it; it ignores nodePublishSecretRef for such volumes. Files written on one
 * node must be visible on the others at once, so files and attributes are cached only for read-only
 * volumes. */
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

json_t *pod_volumes(const struct job_spec *spec) {
    json_t *list = json_array();
    for (size_t i = 0; i < spec->volume_count; i++) {
        json_t *made = json_pack("{s:s}", "name", spec->volumes[i].name);
        add_source(made, &spec->volumes[i]);
        json_array_append_new(list, made);
    }
    for (size_t i = 0; i < count_places(spec); i++) {
        AUTO(keys_release) struct keys keys = {0};
        if (find_keys(spec, i, &keys)) {
            json_array_append_new(list,
                                  json_pack("{s:s, s:{s:s, s:i}}", "name", keys.volume, "secret",
                                            "secretName", tree_text(keys.place, "secretName", ""),
                                            "defaultMode", SECRET_MODE));
        }
    }
    return list;
}

json_t *pod_scratch(const char *name) {
    return json_pack("{s:s, s:{}}", "name", name, "emptyDir");
}
