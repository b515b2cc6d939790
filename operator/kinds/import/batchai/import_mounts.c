// SPDX-License-Identifier: Apache-2.0
/* Batch AI's mounts below $AZ_BATCHAI_MOUNT_ROOT and $AZ_BATCHAI_JOB_MOUNT_ROOT become volumes at
 * /mnt/PATH; both variables are set to that folder. */
#include "operator/kinds/import/batchai/import_job.h"

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
    if (text_starts(name, "windlass-")) { /* reserved for our volumes */
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

/* Removes leading, trailing and repeated slashes; owned. */
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

/* Takes the source over: {"azureFile": {...}}. Returns the volume's name, borrowed. */
static const char *add_volume(struct import *import, const char *path, json_t *source_new) {
    AUTO(text_freep) char *where = clean(path);
    AUTO(text_freep) char *name = volume_name(import, where);
    json_t *volume = json_pack("{s:s}", "name", name);
    if (strcmp(name, where) != 0) {
        json_object_set_new(volume, "mountPath", json_sprintf("/mnt/%s", where));
    }
    json_object_update(volume, source_new);
    json_decref(source_new);
    json_t *volumes = tree_ensure_list(import->spec, "volumes");
    json_array_append_new(volumes, volume);
    json_object_set_new(import->mounts, where, json_string(name));
    return tree_text(volume, "name", "");
}

/* A claim with the volume's own name; the user has to create it. */
static const char *add_claim(struct import *import, const char *path) {
    AUTO(text_freep) char *where = clean(path);
    AUTO(text_freep) char *name = volume_name(import, where);
    return add_volume(import, path,
                      json_pack("{s:{s:s}}", "persistentVolumeClaim", "claimName", name));
}

/* The storage account. In Microsoft's samples <AZURE_BATCHAI_STORAGE_ACCOUNT> is in its place,
 * which its command line filled in; without a name the URL's host begins with it. Owned. */
static char *account_of(const json_t *mount) {
    const char *url = tree_text(mount, "azureFileUrl", ""), *host = strstr(url, "://");
    AUTO(text_freep)
    char *first = host ? x_strndup(host + 3, strcspn(host + 3, "./")) : x_strdup("account");
    const char *account = tree_text(mount, "accountName", first);
    return x_strdup(*account == '<' || !*account ? "account" : account);
}

/* The account's key is not copied: the user has to make a Secret of it. */
static char *note_account(struct import *import, const json_t *mount) {
    AUTO(text_freep) char *account = account_of(mount);
    char *secret = x_printf("%s-%s", import->name, account);
    import_note(import, "volumes",
                "kubectl create secret generic %s --from-literal=azurestorageaccountname=%s "
                "--from-literal=azurestorageaccountkey=KEY",
                secret, strcmp(account, "account") == 0 ? "NAME" : account);
    return secret;
}

static void add_share(struct import *import, const json_t *mount) {
    const char *url = tree_text(mount, "azureFileUrl", "");
    const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
    AUTO(text_freep) char *share = clean(slash ? slash : url);
    AUTO(text_freep)
    char *secret = note_account(import, mount);
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
    char *secret = note_account(import, mount);
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

/* The rest of the path after a mount root; NULL: it does not begin with one. */
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

char *import_line(struct import *import, const char *line) {
    char *made = x_strdup("");
    while (*line) {
        const char *end = line;
        while (*end && !below_root(end)) {
            end++;
        }
        const char *below = *end ? below_root(end) : NULL;
        size_t length = below ? (size_t)(below - end) + strcspn(below, " \t\n\"';&|<>$,:=)") : 0;
        AUTO(text_freep) char *path = x_strndup(end, length);
        AUTO(text_freep) char *place = below ? import_path(import, path) : NULL;
        size_t volume = place ? strcspn(place, "/") : 0;
        AUTO(text_freep) char *before = made;
        made = place ? x_printf("%s%.*s$(%.*s)%s", before, (int)(end - line), line, (int)volume,
                                place, place + volume)
                     : x_printf("%s%.*s%s", before, (int)(end - line), line, path);
        line = end + length;
    }
    return made;
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
    if (!found) { /* mounted by the cluster */
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
