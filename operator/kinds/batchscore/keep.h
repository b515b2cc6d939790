/* keep.h: what the controller remembers of a BatchScore and of what it owns: no more than is used.
 * Of a finished job that is when it ended and how. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* A new tree (cache.h's cache_keep), of a BatchScore, a Pod or a Service. */
json_t *batchscore_keep(const json_t *object);
/* The same of a Pod or Service whose job has ended: enough to delete it. */
json_t *batchscore_keep_ended(const json_t *object);
