/* status.h: a BatchScore's status: the part that all jobs share (conditions.h), and its
 * coordinator's counters. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/job/conditions.h"

/* object: the resource with its last status. spec: NULL when it could not be read. progress: the
 * coordinator's last answer; NULL: the counters stay unchanged. Owned by the caller. */
json_t *batchscore_status(const json_t *object, const struct batchscore_spec *spec,
                          const struct conditions *conditions, const json_t *progress,
                          int64_t now_ms);
/* Copies what a coordinator reports to the status: only fields of the schema, with valid values,
 * because it is another program. */
void batchscore_status_live(json_t *status, const json_t *progress);
/* Sets retired (rows) and retiredWorkers; removes them when there are none. */
void batchscore_status_retired(json_t *status, json_t *rows, int count);
