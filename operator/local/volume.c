// SPDX-License-Identifier: Apache-2.0
#include "operator/local/volume.h"

#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

char *volume_manifest_folder(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? x_strndup(file, MAX(1, (size_t)(slash - file))) : x_strdup(".");
}

/* The DIR of the last --volume NAME=DIR; borrowed. */
static const char *find_given(const struct volume_places *places, const char *name) {
    for (size_t i = places->given_count; i-- > 0;) {
        const char *equals = strchr(places->given[i], '=');
        size_t length = equals ? (size_t)(equals - places->given[i]) : 0;
        if (equals && strlen(name) == length && strncmp(places->given[i], name, length) == 0) {
            return equals + 1;
        }
    }
    return NULL;
}

/* Makes the path absolute, so that it is also valid in the working folder of a pod. */
static int finish(const char *path, char **ret_folder, struct error *err) {
    char *folder = realpath(path, NULL);
    if (!folder) {
        return error_set(err, ERROR_INVALID, "%s: %m", path);
    }
    *ret_folder = folder;
    return 0;
}

int volume_find(const struct volume_places *places, const json_t *volume, char **ret_folder,
                struct error *err) {
    const char *name = tree_text(volume, "name", "");
    const char *given = find_given(places, name);
    if (given) {
        return finish(given, ret_folder, err);
    }
    const char *host_path = tree_text(volume, "hostPath.path", NULL);
    if (host_path && file_is_folder(host_path)) {
        return finish(host_path, ret_folder, err);
    }
    AUTO(text_freep) char *beside = file_join(places->manifest_folder, name);
    if (file_is_folder(beside)) {
        return finish(beside, ret_folder, err);
    }
    if (tree_get(volume, "emptyDir")) {
        AUTO(text_freep) char *path = x_printf("%s/volumes/%s", places->state_folder, name);
        return file_make_folders(path, err) < 0 ? -1 : finish(path, ret_folder, err);
    }
    if (host_path) {
        return error_set(err, ERROR_INVALID,
                         "volume %s has no folder on this machine: give --volume %s=DIR, or make "
                         "its hostPath %s, or make %s",
                         name, name, host_path, beside);
    }
    return error_set(err, ERROR_INVALID,
                     "volume %s has no folder on this machine: give --volume %s=DIR, or make %s",
                     name, name, beside);
}

int volume_find_all(const struct volume_places *places, const json_t *object, const char *within,
                    json_t **ret_folders, struct error *err) {
    const json_t *volumes = json_object_get(tree_get(object, within), "volumes");
    AUTO(tree_freep) json_t *folders = json_object();
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        AUTO(text_freep) char *folder = NULL;
        if (volume_find(places, volume, &folder, err) < 0) {
            return error_context(err, "%s.volumes[%zu]", within, i);
        }
        json_object_set_new(folders, tree_text(volume, "name", ""), json_string(folder));
    }
    *ret_folders = TAKE(folders);
    return 0;
}

int volume_check_given(const struct volume_places *places, const json_t *volumes,
                       struct error *err) {
    for (size_t i = 0; i < places->given_count; i++) {
        const char *given = places->given[i], *equals = strchr(given, '=');
        if (!equals || equals == given || !equals[1]) {
            return error_set(err, ERROR_INVALID, "--volume %s: expected NAME=DIR", given);
        }
        if (!file_is_folder(equals + 1)) {
            return error_set(err, ERROR_INVALID, "--volume %s: %s is not a folder", given,
                             equals + 1);
        }
        size_t j;
        json_t *volume;
        bool known = false;
        json_array_foreach(volumes, j, volume) {
            const char *name = tree_text(volume, "name", "");
            known = known || (strlen(name) == (size_t)(equals - given) &&
                              strncmp(name, given, strlen(name)) == 0);
        }
        if (!known) {
            return error_set(err, ERROR_INVALID,
                             "--volume %s: the manifest has no volume of that name in spec.volumes",
                             given);
        }
    }
    return 0;
}
