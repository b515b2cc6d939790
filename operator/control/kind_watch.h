/* kind_watch.h: which objects the controller watches: those of its kinds, and what they own. */
#pragma once

#include "operator/control/controller.h"

/* Asks the cluster for all of them, and the cache to take them in. kinds ends with NULL; the
 * name of each kind that is watched becomes a key of `watched`. */
NODISCARD int kind_watch_all(struct cluster *cluster, struct cache *cache,
                             const struct kind *const *kinds, json_t *watched, struct error *err);
