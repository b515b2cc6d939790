/* cache_transform.h: the parts of a Sweep and of its pods that the controller keeps in memory
 * (job/cache_transform.h). Pure. */
#pragma once

#include "operator/kinds/job/cache_transform.h"

/* A new tree (cache.h's cache_transform), for a Sweep or a Pod. Sweeps that start from the trials
 * of a finished Sweep (spec.warmStart) look it up by name and uid, and its trials are separate
 * objects, so no more of it is kept. */
json_t *sweep_transform(const json_t *object);
