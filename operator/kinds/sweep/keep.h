/* keep.h: what the controller remembers of a Sweep and of the pods it owns (job/keep.h). Pure. */
#pragma once

#include "operator/kinds/job/keep.h"

/* A new tree (cache.h's cache_keep), of a Sweep or a Pod. A Sweep that has ended is found by its
 * name and uid by those that start from its trials (spec.warmStart), which are objects of their
 * own: nothing more of it is needed. */
json_t *sweep_keep(const json_t *object);
