/* refusals.h: recent write failures of a job, kept between passes, and when each write may be tried
 * again. An object whose creation failed is not asked for before its own time: 1 s after the first
 * failure, doubling up to a minute, and then not before its turn among all that fails
 * (retry_pace.h). Only a success of the same write, or a new metadata.generation of the job, ends
 * that; events do not. Generations that follow each other do so more and more rarely
 * (retry_delay.h). So does a change of an object that succeeds, if the same is wanted again and
 * again, or other changes follow each other. In addition all creations of a job pause after one was
 * denied or the server failed. */
#pragma once

#include "lib/error.h"
#include "operator/control/claim.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/retry_delay.h"
#include "operator/kinds/job/write_failure.h"

enum refusal_of {
    REFUSAL_OF_CREATION, /* or of an apply that creates */
    REFUSAL_OF_CHANGE,   /* of an existing object */
    REFUSAL_OF_DELETION,
};

struct refusal {
    struct object_key object; /* owned, as all texts and trees */
    char *api_version;
    enum refusal_of of;
    enum error_kind kind;
    char *text;
    struct retry_delay delay;
    /* Who has the name, for holders.c: */
    bool is_asked, is_known, is_seen; /* is_seen: the holder was in the cache */
    enum claim holder;
    json_t *wanted; /* what was to be created */
    json_t *there;  /* what is there instead, until it is judged */
};

struct refusals {
    struct refusal *at; /* the oldest first */
    size_t count;
    int64_t generation;               /* the job's, when they happened */
    struct retry_delay_repeat forgot; /* because of another generation */
    json_t *changed;  /* {UID: [TIMES, LAST, SUM, SAME]} of objects that were changed lately, with
                         the checksum of what was written last; owned; NULL */
    size_t forget_at; /* the number of rows at which old ones go */
    int denied;       /* creations denied or failed, in a row; 0: creations do not pause */
    int64_t paused_until_ms; /* monotonic */
};

void refusals_release(struct refusals *record);
/* Before each pass. Forgets everything if the job's generation has changed since the last call; if
 * it changes often, in a later pass. */
void refusals_begin(struct refusals *record, struct reconcile *request);
/* Records how a creation, an apply that creates, or a deletion ended. A pod that only a LimitRange
 * makes invalid was denied. */
void refusals_note(struct refusals *record, const struct written *asked);
/* Records how the change of an existing object ended. */
void refusals_note_change(struct refusals *record, const struct written *written);
/* When an existing object may be changed in that way; 0: now. Somebody may change it back all the
 * time, so the same is written at once the first time within ten minutes, then after 1 s, 2 s, up
 * to three minutes. Another change, such as a suspension, does not wait until there were 12 within
 * ten minutes of each other, and then 15 s after the last. */
int64_t refusals_changed_left_ms(const struct refusals *record, const json_t *object,
                                 int64_t now_ms);
/* ---- for holders.c ---- */

/* What could not be created is there, and ours. */
void refusals_settle(struct refusals *record, const json_t *object);
/* Another error as the reason of the row's failure. */
void refusals_explain(struct refusal *row, const struct error *err);

/* Whether a write of that object failed at its last try, and since when it may be tried again. */
struct retry_delay refusals_delay_of(const struct refusals *record, const json_t *object,
                                     enum refusal_of of);
/* The form that a plan needs: borrowed from the record, but for the array, which the caller frees.
 * Of changes and deletions it has those that are refused, or that the server fails to make, not
 * other failures such as a deletion meanwhile. */
struct write_failures refusals_of(const struct refusals *record);
/* Before another try to delete that object: if the job has ended or is being deleted, so that no
 * condition says it, an Event with the cluster's words. */
void refusals_tell_deletion(const struct refusals *record, struct reconcile *request,
                            const json_t *object);
