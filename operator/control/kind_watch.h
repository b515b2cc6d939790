/* kind_watch.h: starts the watches of the controller: for the resources of each kind, and for the
 * objects that they own. */
#pragma once

#include "operator/control/controller.h"

/* Registers each watched kind in the cache and starts its watch in the cluster. kinds ends with
 * NULL. watched: gets the name of each watched kind as a key. Of an owned kind that several kinds
 * have, the transform of the first of them is used. Errors are the cluster's. */
NODISCARD int kind_watch_all(struct cluster *cluster, struct cache *cache,
                             const struct kind *const *kinds, json_t *watched, struct error *err);
