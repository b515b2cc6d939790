// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/score/score_place.h"

#include "lib/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HERE "work"

int score_places_begin(struct score_places *places, struct error *err) {
    *places = (struct score_places){.folder = realpath(".", NULL), .volumes = json_array()};
    return places->folder ? 0 : error_from_errno(err, errno, "cannot find the working folder");
}

void score_places_release(struct score_places *places) {
    free(places->folder);
    json_decref(places->volumes);
    *places = (struct score_places){0};
}

/* The name of the folder's volume: one that it has already, or a new one. */
static const char *declare(struct score_places *places, const char *name, const char *folder) {
    const json_t *volume;
    size_t i;
    json_array_foreach(places->volumes, i, volume) {
        if (strcmp(tree_text(volume, "hostPath.path", ""), folder) == 0) {
            return tree_text(volume, "name", name);
        }
    }
    json_array_append_new(places->volumes,
                          json_pack("{s:s, s:{s:s}}", "name", name, "hostPath", "path", folder));
    return name;
}

char *score_place(struct score_places *places, const char *name, const char *path) {
    size_t length = strlen(places->folder);
    if (text_starts(path, places->folder) && (path[length] == '/' || path[length] == 0)) {
        return x_printf("%s%s", declare(places, HERE, places->folder), path + length);
    }
    const char *base = file_basename(path);
    AUTO(text_freep)
    char *folder = x_strndup(path, base - path > 1 ? (size_t)(base - path) - 1 : 1);
    if (file_is_folder(path)) {
        return x_strdup(declare(places, name, path));
    }
    return x_printf("%s/%s", declare(places, name, folder), base);
}
