// SPDX-License-Identifier: Apache-2.0
/* What Batch AI mounted below $AZ_BATCHAI_MOUNT_ROOT and $AZ_BATCHAI_JOB_MOUNT_ROOT becomes volumes
 * at /mnt/PATH, which is where both variables point. */
#include "operator/kinds/disttrain/import/import_job.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_BYTES = 40 };

static bool is_taken(const struct import *import, const char *name) {
    return tree_find(json_object_get(import->spec, "volumes"), "name", name) != NULL;
}

/* A name for the volume at that path: letters, digits and dashes; owned. */
static char *volume_name(const struct import *import, const char *path) {
    AUTO(text_freep) char *name = x_printf("%s%s", isalpha((unsigned char)*path) ? "" : "v-", path);
    for (char *at = name; *at; at++) {
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    }
    if (text_starts(name, "windlass-")) { /* ours */
        name[0] = 'v';
    }
    name[MIN(strlen(name), (size_t)NAME_MAX_BYTES - 4)] = 0;
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '-'; end--) {
        name[end - 1] = 0;
    }
    for (int i = 2; i < 100 && is_taken(import, name); i++) {
        AUTO(text_freep) char *other = x_printf("%.36s-%d", name, i);
        if (!is_taken(import, other)) {
            return TAKE(other);
        }
    }
    return TAKE(name);
}

/* Without slashes around it, and none twice; owned. */
static char *clean(const char *path) {
    char *made = x_strdup(path), *to = made;
    for (const char *at = path; *at; at++) {
        if (*at != '/' || (to > made && to[-1] != '/')) {
            *to++ = *at;
        }
    }
    while (to > made && to[-1] == '/') {
        to--;
    }
    *to = 0;
    return made;
}

/* Takes the source over: {"azureFile": {...}}. Borrowed: the volume's name. */
static const char *add_volume(struct import *import, const char *path, json_t *source_new) {
    AUTO(text_freep) char *where = clean(path);
    AUTO(text_freep) char *name = volume_name(import, where);
    json_t *volume = json_pack("{s:s}", "name", name);
    if (strcmp(name, where) != 0) {
        json_object_set_new(volume, "mountPath", json_sprintf("/mnt/%s", where));
    }
    json_object_update(volume, source_new);
    json_decref(source_new);
    json_t *volumes = json_object_get(import->spec, "volumes");
    if (!volumes) {
        volumes = json_array();
        json_object_set_new(import->spec, "volumes", volumes);
    }
    json_array_append_new(volumes, volume);
    json_object_set_new(import->mounts, where, json_string(name));
    return tree_text(volume, "name", "");
}

/* A claim of the volume's own name: what it is, only people know. */
static const char *add_claim(struct import *import, const char *path) {
    AUTO(text_freep) char *where = clean(path);
    AUTO(text_freep) char *name = volume_name(import, where);
    return add_volume(import, path,
                      json_pack("{s:{s:s}}", "persistentVolumeClaim", "claimName", name));
}

/* The account's key stays where it is: a Secret has to be made of it. */
static char *note_account(struct import *import, const char *account) {
    char *secret = x_printf("%s-%s", import->name, account);
    import_note(import, "volumes",
                "kubectl create secret generic %s --from-literal=azurestorageaccountname=%s "
                "--from-literal=azurestorageaccountkey=KEY",
                secret, account);
    return secret;
}

static void add_share(struct import *import, const json_t *mount) {
    const char *url = tree_text(mount, "azureFileUrl", "");
    const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
    AUTO(text_freep) char *share = clean(slash ? slash : url);
    AUTO(text_freep)
    char *secret = note_account(import, tree_text(mount, "accountName", "account"));
    json_t *source = json_pack("{s:s, s:s}", "shareName", share, "secretName", secret);
    if (json_object_get(mount, "fileMode") || json_object_get(mount, "directoryMode")) {
        json_object_set_new(
            source, "mountOptions",
            json_pack("[o, o, s, s]",
                      json_sprintf("file_mode=%s", tree_text(mount, "fileMode", "0777")),
                      json_sprintf("dir_mode=%s", tree_text(mount, "directoryMode", "0777")),
                      "actimeo=1", "nosharesock"));
    }
    add_volume(import, tree_text(mount, "relativeMountPath", "share"),
               json_pack("{s:o}", "azureFile", source));
}

static void add_container(struct import *import, const json_t *mount) {
    AUTO(text_freep)
    char *secret = note_account(import, tree_text(mount, "accountName", "account"));
    if (json_object_get(mount, "mountOptions")) {
        import_note(import, "volumes",
                    "%s: mountOptions of blobfuse 1 are not those of blobfuse2, and left out",
                    tree_text(mount, "relativeMountPath", ""));
    }
    add_volume(import, tree_text(mount, "relativeMountPath", "container"),
               json_pack("{s:{s:s, s:s}}", "blobfuse", "container",
                         tree_text(mount, "containerName", ""), "secretName", secret));
}

static void add_server(struct import *import, const json_t *mount) {
    const char *source = tree_text(mount, "sourceDirectory", "");
    AUTO(text_freep) char *folder = clean(source);
    const char *name =
        add_volume(import, tree_text(mount, "relativeMountPath", "server"),
                   json_pack("{s:{s:s, s:o}}", "nfs", "server", "NAME-THE-SERVER", "path",
                             json_sprintf("/mnt/data%s%s", *folder ? "/" : "", folder)));
    import_note(import, "volumes", "%s: the address of the file server %s", name,
                tree_text(mount, "fileServer.id", "(without an id)"));
}

static void add_unmanaged(struct import *import, const json_t *mount) {
    const char *path = tree_text(mount, "relativeMountPath", "other");
    AUTO(text_freep) char *where = clean(path);
    const char *name = add_claim(import, path);
    import_note(import, "volumes",
                "%s: was mounted by a command of its own; make a claim of that name", name);
    import_leave_out(import, "mountVolumes.unmanagedFileSystems: the mountCommand of %s", where);
}

void import_mounts(struct import *import) {
    static const struct {
        const char *list;
        void (*add)(struct import *import, const json_t *mount);
    } kinds[] = {{"azureFileShares", add_share},
                 {"azureBlobFileSystems", add_container},
                 {"fileServers", add_server},
                 {"unmanagedFileSystems", add_unmanaged}};
    const json_t *mounts = json_object_get(import->properties, "mountVolumes");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const json_t *list = json_object_get(mounts, kinds[i].list);
        for (size_t k = 0; k < json_array_size(list); k++) {
            kinds[i].add(import, json_array_get(list, k));
        }
    }
}

/* What follows a mount root; NULL: it does not begin with one. */
static const char *below_root(const char *path) {
    static const char *const roots[] = {"$AZ_BATCHAI_MOUNT_ROOT/", "${AZ_BATCHAI_MOUNT_ROOT}/",
                                        "$AZ_BATCHAI_JOB_MOUNT_ROOT/",
                                        "${AZ_BATCHAI_JOB_MOUNT_ROOT}/"};
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        if (text_starts(path, roots[i])) {
            return path + strlen(roots[i]);
        }
    }
    return NULL;
}

char *import_path(struct import *import, const char *path) {
    const char *below = below_root(path);
    AUTO(text_freep) char *where = clean(below ? below : "");
    AUTO(text_freep) char *guarded = x_printf("/%s/", where);
    if (!*where || strstr(guarded, "/../")) {
        return NULL;
    }
    const char *mount, *rest = NULL;
    json_t *name, *found = NULL;
    json_object_foreach(import->mounts, mount, name) {
        size_t length = strlen(mount);
        if (strncmp(where, mount, length) == 0 && (where[length] == '/' || !where[length])) {
            found = name;
            rest = where + length;
        }
    }
    if (!found) { /* the cluster's */
        AUTO(text_freep) char *first = x_strndup(where, strcspn(where, "/"));
        const char *made = add_claim(import, first);
        import_note(import, "volumes",
                    "%s: was mounted by the cluster, not by the job; make a claim of that name "
                    "that all nodes can mount, or say here what it is",
                    made);
        return x_printf("%s%s", made, where + strlen(first));
    }
    return x_printf("%s%s", json_string_value(found), rest);
}
