/* volume.h: a declared volume -> its folder on this machine. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

struct volume_places {
    const char *const *given; /* "NAME=DIR", from --volume */
    size_t given_count;
    const char *manifest_folder; /* the folder of the manifest */
    const char *state_folder;    /* of this run */
};

/* volume is an element of a Pod's or a BatchScore's `volumes`. Its folder is, in this order: what
 * --volume says, its hostPath if that exists, NAME/ beside the manifest if that exists, and for an
 * emptyDir a folder of the run, which is made. ERROR_INVALID names the volume and the ways.
 * readOnly is not enforced: the processes are the user's own. The caller frees the absolute path.
 */
NODISCARD int volume_find(const struct volume_places *places, const json_t *volume,
                          char **ret_folder, struct error *err);

/* Every --volume is NAME=DIR, DIR is a folder and NAME one of `volumes`. */
NODISCARD int volume_check_given(const struct volume_places *places, const json_t *volumes,
                                 struct error *err);
