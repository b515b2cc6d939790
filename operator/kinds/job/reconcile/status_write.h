/* status_write.h: when a resource's status is written. A change of a condition's status or reason:
 * at once. Figures (counters, messages): when request->figures_ms have passed since the last write.
 * Anything else, a figure that appears or goes, and whether workers are connected: a second after
 * the last write. Rates and the seconds left alone: never; they are written with the rest. In a
 * rush all but the end waits longer. */
#pragma once

#include "operator/control/controller.h"

/* Of a resource, kept between passes. */
struct status_write_record {
    bool is_seen;
    int64_t wrote_ms;    /* the last time, monotonic; at first a random time before the first pass,
                            so that a controller that takes over does not write all at once */
    const char *dropped; /* the field that the cluster did not store; a literal; NULL: none */
};

/* False when the write was postponed. status is NULL, or equal to the stored one, when there is
 * nothing to write. */
bool status_write(struct reconcile *request, struct status_write_record *record, json_t *status);
/* Records how a write ended; writes other than of a status are ignored. */
void status_write_note(struct status_write_record *record, const struct written *written);

/* Asks for another pass after left_ms, or earlier if that was asked for. */
void status_write_requeue(struct reconcile *request, int64_t left_ms);
