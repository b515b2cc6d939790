/* kind_watch.h: which objects the controller watches: those of its kinds, and the objects they own.
 */
#pragma once

#include "operator/control/controller.h"

/* Starts a watch of each kind in the cluster and registers it in the cache. kinds ends with NULL.
 * The name of each watched kind becomes a key of `watched`. */
NODISCARD int kind_watch_all(struct cluster *cluster, struct cache *cache,
                             const struct kind *const *kinds, json_t *watched, struct error *err);
