/* run_stores.h: where `windlass run` finds the keys that Secrets of spec.stores and spec.buckets
 * hold on a cluster: files in a folder, as in a pod, or those of the user. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* folder: the DIR of --stores, which pods inherit as WINDLASS_STORES_FOLDER; NULL: not given.
 * object: the whole resource. within: "spec", or "spec.trial" for a Sweep. INVALID: there is no
 * such folder, or keys can be nowhere. */
NODISCARD int run_stores_find(const char *folder, const json_t *object, const char *within,
                              struct error *err);
