/* volume_beside.h: volumes that need no declaration on this machine: folders beside the manifest.
 */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* A path data/photos (of a member that holds one: path, labels, ...) or a word $(data) of the spec
 * means the folder data beside the manifest, if there is one and no volume of that name is
 * declared. Declares them all in `within` ("spec", "spec.trial") of the object, as claims of the
 * same names: what a cluster would want. folder: the manifest's. Returns their names, "data,
 * model"; owned; NULL: there are none. */
char *volume_beside_declare(json_t *object, const char *within, const char *folder);
