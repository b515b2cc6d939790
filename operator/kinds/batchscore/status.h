/* status.h: a BatchScore's status, made of the last one and what is known now. Nothing in it
 * changes when nothing changed: no heartbeat, and lastTransitionTime moves only with the
 * condition's status. Pure.
 *
 * Conditions: Succeeded is the summary; Reconciling is True until the job's pods are requested;
 * Stalled is True when nothing will happen before somebody does something; Suspended is True while
 * spec.suspend is. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

/* What the conditions say. reason is one word, as in `kubectl get bs`. */
struct outcome {
    enum outcome_state { OUTCOME_UNDER_WAY, OUTCOME_SUCCEEDED, OUTCOME_FAILED } state;
    const char *reason;
    char message[640];   /* the cause first, then what to do */
    bool pods_requested; /* Reconciling is False */
    bool suspended;
    const char *stalled; /* why, although it is under way; NULL: it is not */
    char stalled_message[640];
    json_t *credentials;     /* status.credentials; owned; NULL: as before */
    json_t *runs;            /* status.runs; owned; NULL: no series */
    int64_t next_ms;         /* status.nextTime; 0: none is known */
    const char *spec_hash;   /* status.specHash; NULL: as before */
    const char *agent_image; /* status.agentImage; NULL: as before */
};

void outcome_set(struct outcome *outcome, enum outcome_state state, const char *reason,
                 const char *format, ...) PRINTF_LIKE(4, 5);
void outcome_stall(struct outcome *outcome, const char *reason, const char *message);

/* object: the resource with its last status. spec: NULL when it could not be read. progress: what
 * the coordinator said last, or NULL: the counters stay as they are. Owned by the caller. */
json_t *status_next(const json_t *object, const struct batchscore_spec *spec,
                    const struct outcome *outcome, const json_t *progress, int64_t now_ms);
/* The first field that the plan reads back and that the cluster dropped: `asked` was written,
 * `stored` is what came of it. NULL: all is there. A literal. */
const char *status_dropped(const json_t *asked, const json_t *stored);
/* Of a finished job whose spec was changed: the same outcome, about the new generation. */
json_t *status_seen(const json_t *object);

/* A condition of a resource; NULL when it has none of that type. Borrowed. */
const json_t *status_condition(const json_t *object, const char *type);
