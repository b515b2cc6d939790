/* keep.h: what the controller remembers of a DistTrain and of what it owns (job/keep.h). Pure. */
#pragma once

#include "operator/kinds/job/keep.h"

/* A new tree (cache.h's cache_keep), of a DistTrain, a Pod or a Service. */
json_t *disttrain_keep(const json_t *object);
