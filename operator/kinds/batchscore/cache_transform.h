/* cache_transform.h: the parts of a BatchScore and of its objects that the controller keeps in
 * memory (job/cache_transform.h). Pure. */
#pragma once

#include "operator/kinds/job/cache_transform.h"

/* A new tree (cache.h's cache_transform), of a BatchScore, a Pod or a Service. */
json_t *batchscore_transform(const json_t *object);
