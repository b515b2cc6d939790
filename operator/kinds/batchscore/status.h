/* status.h: a BatchScore's status: what every job's says (conditions.h), and its coordinator's
 * counters. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/job/conditions.h"

/* object: the resource with its last status. spec: NULL when it could not be read. progress: what
 * the coordinator said last, or NULL: the counters stay as they are. Owned by the caller. */
json_t *status_next(const json_t *object, const struct batchscore_spec *spec,
                    const struct conditions *conditions, const json_t *progress, int64_t now_ms);
