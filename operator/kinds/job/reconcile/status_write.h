/* status_write.h: when a resource's status is written. A change of a condition's status or reason:
 * at once; after ten in a row one every 15 s, so that what goes to and fro costs little; the end of
 * the job always. Figures (counters, messages): when request->figures_ms have passed since the last
 * write. Anything else, a figure that appears or goes, and whether workers are connected, which
 * counts among the ten: a second after the last write. Rates and the seconds left alone: never;
 * they are written with the rest. In a rush all but the end waits longer.
 *
 * What says no more than that the job begins (Pending) waits until a second after the job was first
 * seen: by then most jobs have more to say. Its Service has recorded what it says. Until then
 * kstatus goes by observedGeneration, -1, the definition's default. */
#pragma once

#include "operator/control/controller.h"

/* Of a resource, kept between passes. */
struct status_write_record {
    bool is_seen;
    bool may_begin_late; /* set by the caller: the definition is known to keep all fields */
    int64_t seen_ms;     /* the first pass, monotonic */
    int64_t at_once_ms;  /* until when the allowance of writes at once is used up, monotonic */
    int64_t wrote_ms;    /* the last time, monotonic; at first a random time before the first pass,
                            so that a controller that takes over does not write all at once */
    const char *dropped; /* the field that the cluster did not store; a literal; NULL: none */
    /* A status that was refused, or stored only in part. It is not asked for again because the
     * stored one still differs, but when its time and its turn have come (retry_pace.h), or when
     * the job has something new to say. */
    int failures;    /* in a row */
    bool is_partial; /* the last one was stored in part */
    int64_t not_before_ms;
    json_t *tried; /* the last of them; owned; NULL: none failed */
};

/* {UID: at_once_ms} of resources of which nothing else is kept, because they have ended: somebody
 * may write their status all the time. Zero at first. */
struct status_write_ended {
    json_t *at_once; /* owned; NULL: none */
    size_t forget_at;
};

void status_write_keep(struct status_write_ended *ended, const char *uid,
                       const struct status_write_record *record, int64_t now_ms);
void status_write_recall(struct status_write_ended *ended, const char *uid,
                         struct status_write_record *ret_record);
void status_write_release(struct status_write_record *record);
/* False when the write was postponed. status is NULL, or equal to the stored one, when there is
 * nothing to write. Its figures are counted (operator_metrics.h), written or not. */
bool status_write(struct reconcile *request, struct status_write_record *record, json_t *status);
/* Records how a write ended; writes other than of a status are ignored. */
void status_write_note(struct status_write_record *record, const struct written *written);

/* Asks for another pass after left_ms, or earlier if that was asked for. */
void status_write_requeue(struct reconcile *request, int64_t left_ms);
