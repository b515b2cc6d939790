/* cache_transform.h: what the controller remembers of a Sweep and of the pods it owns
 * (job/cache_transform.h). Pure. */
#pragma once

#include "operator/kinds/job/cache_transform.h"

/* A new tree (cache.h's cache_transform), of a Sweep or a Pod. A Sweep that has ended is found by
 * its name and uid by those that start from its trials (spec.warmStart), which are objects of their
 * own: nothing more of it is needed. */
json_t *sweep_transform(const json_t *object);
