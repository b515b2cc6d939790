/* conditions.h: the conditions of a job's status, and the status fields that every kind has. The
 * result is the same when nothing changed: there is no heartbeat, and lastTransitionTime moves only
 * with the condition's status. Pure.
 *
 * Conditions (docs/job-states.md): Succeeded is the summary, and its reason is the column State,
 * which never goes back: a job that has run and starts again still shows Running. Complete or
 * Failed becomes True at the end. Waiting is True while something keeps the job from running, or
 * from running again: its reason says what. Reconciling is True until the job's pods are requested.
 * Stalled is True when a person must act and nothing of the job runs, and after a failure.
 * Suspended is True while spec.suspend is. */
#pragma once

#include "operator/kinds/job/spec.h"

/* The content of the conditions. reason is one word, as in `kubectl get bs`. */
struct conditions {
    enum conditions_state { CONDITIONS_UNDER_WAY, CONDITIONS_SUCCEEDED, CONDITIONS_FAILED } state;
    const char *reason;
    char message[640];   /* the cause first, then the remedy; 511 bytes at most */
    bool pods_requested; /* Reconciling is False */
    bool progresses;     /* something of the job runs: it is not Stalled */
    bool suspended;
    bool is_early;       /* it waits for other jobs: no time counts yet */
    bool is_asked_for;   /* it failed because a user ended it: no warning, and not Stalled */
    const char *stalled; /* the reason of Stalled while the job is under way; NULL: not stalled */
    char stalled_message[640];
    char spec_changed[640]; /* the message of SpecChanged; "": it is as accepted */
    json_t *credentials;    /* status.credentials; owned; NULL: as before */
    json_t *runs;           /* status.runs; owned; NULL: not a series */
    json_t *after;          /* status.after; owned; NULL: as before */
    int64_t next_ms;        /* status.nextTime; 0: none is known */
    json_t *images; /* status.images: role -> imageID of pods that are there; owned; NULL: none */
    const char *spec_hash;   /* status.specHash; NULL: as before */
    const char *agent_image; /* status.agentImage; NULL: as before */
};

/* The reason is borrowed; the message becomes one line and is cut where it is too long, here and in
 * conditions_stall. */
void conditions_set(struct conditions *conditions, enum conditions_state state, const char *reason,
                    const char *format, ...) PRINTF_LIKE(4, 5);
/* The condition SpecChanged: the job goes on with what it began with. fields: accepted.h. */
void conditions_note_change(struct conditions *conditions, const char *fields);
void conditions_stall(struct conditions *conditions, const char *reason, const char *message);

/* The next status, as far as all kinds share it, made from the previous one: conditions, run or
 * runs, the recorded start (spec hash, image), times. spec: NULL when it could not be read. Owned
 * by the caller. */
json_t *conditions_status(const json_t *object, const struct job_spec *spec,
                          const struct conditions *conditions, int64_t now_ms);
/* The first field that a plan reads back and that the cluster dropped. `asked` was written,
 * `stored` is what the cluster stored. NULL: all fields are there. The result is a literal. */
const char *conditions_dropped(const json_t *asked, const json_t *stored);
/* The status of a finished job whose spec was changed: the same outcome, for the new generation. */
json_t *conditions_for_new_generation(const json_t *object);

/* A condition of a resource; NULL when it has none of that type. Borrowed. */
const json_t *conditions_find(const json_t *object, const char *type);
/* What the last plan reported about a resource under way, whose `reason` and `message` a plan may
 * compare: Waiting while that is True, else Succeeded. NULL: nothing yet. Borrowed. */
const json_t *conditions_before(const json_t *object);
/* The reason that the resource will show as its state: the new one, or the stored one when that is
 * further on. Borrowed from one of the two. */
const char *conditions_shown(const json_t *object, const struct conditions *conditions);
/* Whether Waiting will be True. */
bool conditions_waits(const json_t *object, const struct conditions *conditions);
/* True when the resource has ended: Succeeded is True or False. */
bool conditions_is_finished(const json_t *object);
