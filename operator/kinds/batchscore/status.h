/* status.h: a BatchScore's status, made of the last one and what is known now. Nothing in it
 * changes when nothing changed: no heartbeat, and lastTransitionTime moves only with the
 * condition's status. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

/* What the condition Succeeded says. reason is one word, as in `kubectl get bs`. */
struct outcome {
    enum outcome_state { OUTCOME_UNDER_WAY, OUTCOME_SUCCEEDED, OUTCOME_FAILED } state;
    const char *reason;
    char message[640]; /* the cause first, then what to do */
};

void outcome_set(struct outcome *outcome, enum outcome_state state, const char *reason,
                 const char *format, ...) PRINTF_LIKE(4, 5);

/* object: the resource with its last status. spec: NULL when it could not be read. progress: what
 * the coordinator said last, or NULL: the counters stay as they are. Owned by the caller. */
json_t *status_next(const json_t *object, const struct batchscore_spec *spec,
                    const struct outcome *outcome, const json_t *progress, int64_t now_ms);

/* The condition Succeeded of a resource; NULL when it has none. Borrowed. */
const json_t *status_condition(const json_t *object);
