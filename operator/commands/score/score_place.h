/* score_place.h: paths of this machine as a manifest has them: VOLUME/path/in/it. */
#pragma once

#include "lib/tree.h"

/* Zero-initialized. What is below `folder` is in the volume "work", all else in volumes of its own.
 */
struct score_places {
    char *folder;    /* of the command; owned */
    json_t *volumes; /* spec.volumes; owned */
};
/* INVALID: the command's folder is not known. */
NODISCARD int score_places_begin(struct score_places *places, struct error *err);
void score_places_release(struct score_places *places); /* for AUTO */

/* path: absolute, without links. name: of the volume that it gets if it is elsewhere: its folder,
 * or itself if it is one. Owned. */
char *score_place(struct score_places *places, const char *name, const char *path);
