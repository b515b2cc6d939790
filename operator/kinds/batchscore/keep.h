/* keep.h: what the controller remembers of a BatchScore and of what it owns (job/keep.h). Pure. */
#pragma once

#include "operator/kinds/job/keep.h"

/* A new tree (cache.h's cache_keep), of a BatchScore, a Pod or a Service. */
json_t *batchscore_keep(const json_t *object);
