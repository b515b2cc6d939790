/* volume.h: finds the folder of a volume on this machine. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Where to look for the folders. */
struct volume_places {
    const char *const *given; /* "NAME=DIR", from --volume */
    size_t given_count;
    const char *manifest_folder; /* the folder of the manifest */
    const char *state_folder;    /* of this run */
};

/* The folder that a manifest is in; owned. */
char *volume_manifest_folder(const char *file);

/* volume is an element of a Pod's or a BatchScore's `volumes`. Its folder is the first of:
 * --volume, its hostPath if that exists, NAME/ next to the manifest if that exists, and for an
 * emptyDir a folder of the run, which is created. ERROR_INVALID names the volume and these options.
 * readOnly is not enforced: the processes run as the user. The caller frees the absolute path. */
NODISCARD int volume_find(const struct volume_places *places, const json_t *volume,
                          char **ret_folder, struct error *err);

/* Of all volumes of the manifest's field `within` ("spec"): {NAME: folder}; owned. The error begins
 * with the volume's field. */
NODISCARD int volume_find_all(const struct volume_places *places, const json_t *object,
                              const char *within, json_t **ret_folders, struct error *err);

/* Checks that every --volume is NAME=DIR, with an existing folder and a name in `volumes`. */
NODISCARD int volume_check_given(const struct volume_places *places, const json_t *volumes,
                                 struct error *err);
