// SPDX-License-Identifier: Apache-2.0
/* The rules between the fields that all kinds of jobs share. crds/ has each as CEL with the same
 * message. */
#include "operator/kinds/job/spec.h"

#include "lib/net/address.h"
#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/own_variables.h"

#include <stdlib.h>
#include <string.h>

int job_refuse(struct error *err, const char *field, const char *sentence) {
    return error_set(err, ERROR_INVALID, "spec.%s: %s", field, sentence);
}

bool job_has_parent_part(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2) {
        bool starts = at == path || at[-1] == '/';
        if (starts && (at[2] == '/' || at[2] == 0)) {
            return true;
        }
    }
    return false;
}

const char *job_only_one(const json_t *object, const char *const *names, size_t count) {
    const char *only = NULL;
    for (size_t i = 0; i < count; i++) {
        if (json_object_get(object, names[i])) {
            if (only) {
                return NULL;
            }
            only = names[i];
        }
    }
    return only;
}

/* ---- paths ---- */

int job_check_place(const json_t *spec, const char *field, const char *path, struct error *err) {
    if (job_has_parent_part(path)) {
        return error_set(err, ERROR_INVALID,
                         "spec.%s: a path may not contain .. (it stays in its volume): %.100s",
                         field, path);
    }
    if (after_reference_begins(path)) {
        return 0; /* checked again when it is known */
    }
    const json_t *place = job_place(spec, path);
    if (!place) {
        return error_set(
            err, ERROR_INVALID,
            "spec.%s: is neither in a volume of spec.volumes nor in an account of "
            "spec.stores nor in a bucket of spec.buckets (a path is VOLUME/path/in/it, "
            "az://ACCOUNT/CONTAINER/path, s3://BUCKET/path or gs://BUCKET/path): %.100s",
            field, path);
    }
    if (json_object_get(place, "emptyDir")) {
        return job_refuse(
            err, field,
            "is in an emptyDir, which each pod has for itself; use a volume that all pods share");
    }
    return own_variables_check_path(field, path, err);
}

char *job_plain_path(const char *path) {
    char *plain = x_calloc(1, strlen(path) + 2);
    size_t size = 0;
    while (*(path += strspn(path, "/"))) {
        size_t part = strcspn(path, "/");
        if (part == 2 && strncmp(path, "..", 2) == 0) {
            while (size > 0 && plain[--size] != '/') {
            }
        } else if (part != 1 || *path != '.') {
            plain[size++] = '/';
            memcpy(plain + size, path, part);
            size += part;
        }
        path += part;
    }
    if (size == 0) {
        plain[size++] = '/';
    }
    plain[size] = 0;
    return plain;
}

const char *job_secret_in(const char *text) {
    static const char *const secrets[] = {
        "WINDLASS_TOKEN",           "WINDLASS_TLS_KEY",
        "WINDLASS_SIGNING_KEY",     "WINDLASS_QUERY_CONNECTION",
        "WINDLASS_ENDPOINT_KEY",    "WINDLASS_ENDPOINT_TLS_CERTIFICATE",
        "WINDLASS_ENDPOINT_TLS_KEY"};
    for (const char *at = text; (at = strchr(at, '$')); at += 1 + (at[1] == '$')) {
        for (size_t i = 0; i < ARRAY_LEN(secrets) && at[1] == '('; i++) {
            size_t length = strlen(secrets[i]);
            if (strncmp(at + 2, secrets[i], length) == 0 && at[2 + length] == ')') {
                return secrets[i];
            }
        }
    }
    return NULL;
}

int job_check_written(const json_t *spec, const char *field, const char *need, struct error *err) {
    const char *path = tree_text(spec, field, NULL);
    if (path && tree_bool(job_place(spec, path), "readOnly", false)) {
        return error_set(err, ERROR_INVALID,
                         "spec.%s: is in a %s with readOnly: true; %s that can be written: %.100s",
                         field, job_is_stored(path) ? "store" : "volume", need, path);
    }
    return 0;
}

/* ---- programs ---- */

static bool is_variable(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    return *name && strchr(letters, *name) &&
           name[strspn(name,
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.")] == 0;
}

int job_check_environment(const json_t *spec, const char *field, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(tree_get(spec, field), name, value) {
        const char *secret = job_secret_in(json_is_string(value) ? json_string_value(value) : "");
        if (secret) {
            return error_set(
                err, ERROR_INVALID,
                "spec.%s: %.60s refers to $(%s), which no program gets; take it out, or "
                "write $$(%s) for these characters",
                field, name, secret, secret);
        }
        if (!is_variable(name) || text_starts(name, "WINDLASS_") || strcmp(name, "POD_IP") == 0) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: has an invalid variable name (letters, digits, _ . -) or a "
                             "reserved one (POD_IP, WINDLASS_...): %.100s",
                             field, name);
        }
        if (tree_find(json_object_get(spec, "volumes"), "name", name)) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: has a variable named as a volume, which holds that "
                             "volume's folder; give it another name: %.100s",
                             field, name);
        }
    }
    return 0;
}

bool job_asks_for_gpus(const json_t *resources) {
    static const char *const lists[] = {"limits", "requests"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (json_object_get(json_object_get(resources, lists[i]), "nvidia.com/gpu")) {
            return true;
        }
    }
    return false;
}

/* ---- volumes and stores ---- */

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
                         "spec.volumes[%zu].blobfuse.resourceGroup: belongs to clientID; it is not "
                         "used with secretName",
                         index);
    }
    return 0;
}

static int check_volume(const json_t *volume, size_t index, struct error *err) {
    if (!job_only_one(volume, job_volume_fields, VOLUME_KIND_COUNT)) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu]: exactly one of persistentVolumeClaim, blobfuse, "
                         "azureFile, nfs, hostPath and emptyDir must be given",
                         index);
    }
    static const char *const paths[] = {"mountPath", "hostPath.path", "nfs.path"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *path = tree_text(volume, paths[i], "");
        if (job_has_parent_part(path)) {
            return error_set(err, ERROR_INVALID,
                             "spec.volumes[%zu].%s: a path may not contain ..: %.100s", index,
                             paths[i], path);
        }
    }
    if (text_starts(tree_text(volume, "name", ""), "windlass-")) {
        return error_set(
            err, ERROR_INVALID,
            "spec.volumes[%zu].name: names that begin with windlass- are reserved; choose another",
            index);
    }
    AUTO(text_freep) char *plain = job_plain_path(tree_text(volume, "mountPath", ""));
    if (job_lies_below(plain, "/windlass")) {
        return error_set(
            err, ERROR_INVALID,
            "spec.volumes[%zu].mountPath: is in /windlass, which is reserved; choose another",
            index);
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
        AUTO(text_freep) char *given = job_mount_path(volume);
        AUTO(text_freep) char *mount = job_plain_path(given);
        for (size_t k = 0; k < i; k++) {
            AUTO(text_freep) char *others = job_mount_path(json_array_get(volumes, k));
            AUTO(text_freep) char *other = job_plain_path(others);
            if (strcmp(mount, other) == 0) {
                return error_set(err, ERROR_INVALID,
                                 "spec.volumes: two volumes have the same mountPath: %.100s of "
                                 "spec.volumes[%zu] and spec.volumes[%zu]",
                                 mount, k, i);
            }
        }
    }
    return 0;
}

/* The agents look again, at the addresses that a name has when they connect. */
static int check_endpoint(const json_t *place, const char *list, size_t index, struct error *err) {
    static const char scheme[] = "https://";
    const char *endpoint = tree_text(place, "endpoint", scheme);
    const char *start = endpoint + strlen(scheme);
    AUTO(text_freep) char *host = x_strndup(start, strcspn(start, ":/"));
    if (address_is_refused_host(host)) {
        return error_set(err, ERROR_INVALID,
                         "spec.%s[%zu].endpoint: link-local addresses and those of metadata "
                         "services are refused, and an IPv4 address is four decimal numbers: "
                         "%.100s",
                         list, index, endpoint);
    }
    return 0;
}

/* As the agents do (agent/store/s3/s3_place.c). */
static int check_bucket_name(const json_t *place, const char *list, size_t index,
                             struct error *err) {
    const char *name = tree_text(place, "name", "");
    return !strstr(name, "..") && !text_ends(name, "--x-s3")
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.%s[%zu].name: has two dots in a row, or is a directory bucket "
                           "(--x-s3), which lists in no order: %.100s",
                           list, index, name);
}

/* An entry has one Secret and one endpoint, and two clouds may each have a bucket of that name. */
static int check_one_cloud(const json_t *spec, const json_t *place, size_t index,
                           struct error *err) {
    AUTO(text_freep) char *amazon = x_printf("s3://%s", tree_text(place, "name", ""));
    AUTO(text_freep) char *google = x_printf("gs://%s", tree_text(place, "name", ""));
    return !job_mentions(spec, amazon) || !job_mentions(spec, google)
               ? 0
               : error_set(
                     err, ERROR_INVALID,
                     "spec.buckets[%zu]: is used as %s and as %s, which would share its keys: "
                     "name one of the buckets otherwise, or run two jobs",
                     index, amazon, google);
}

static int check_clouds(const json_t *spec, struct error *err) {
    const json_t *buckets = json_object_get(spec, "buckets");
    for (size_t i = 0; i < json_array_size(buckets); i++) {
        if (check_one_cloud(spec, json_array_get(buckets, i), i, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* identity: the field for those without a Secret. */
static int check_places(const json_t *spec, const char *list, const char *identity,
                        struct error *err) {
    const json_t *places = json_object_get(spec, list);
    for (size_t i = 0; i < json_array_size(places); i++) {
        const json_t *place = json_array_get(places, i);
        if (!json_object_get(place, "secretName") == !json_object_get(place, identity)) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s[%zu]: exactly one of secretName and %s must be given", list,
                             i, identity);
        }
        if (check_bucket_name(place, list, i, err) < 0 || check_endpoint(place, list, i, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool needs_account(const json_t *spec) {
    static const char *const places[][2] = {
        {"volumes", "blobfuse.clientID"}, {"stores", "clientID"}, {"buckets", "identity"}};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const json_t *list = json_object_get(spec, places[i][0]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            const char *identity = tree_text(json_array_get(list, k), places[i][1], NULL);
            if (identity && strcmp(identity, "Node") != 0) {
                return true;
            }
        }
    }
    return false;
}

static int check_identity(const json_t *spec, struct error *err) {
    return !needs_account(spec) || json_object_get(spec, "serviceAccountName")
               ? 0
               : job_refuse(err, "serviceAccountName",
                            "must be given for a volume or store with clientID, the service "
                            "account that the identity is federated with, and for a bucket with "
                            "identity ServiceAccount, the one that has the role");
}

int job_check_volumes(const json_t *spec, struct error *err) {
    return check_volumes(json_object_get(spec, "volumes"), err) < 0 ||
                   check_places(spec, "stores", "clientID", err) < 0 ||
                   check_places(spec, "buckets", "identity", err) < 0 ||
                   check_clouds(spec, err) < 0 || check_identity(spec, err) < 0
               ? -1
               : 0;
}
