/* status_write.h: when a resource's status is written: transitions at once; counters and messages a
 * second after the last write, later in a rush. */
#pragma once

#include "operator/control/controller.h"

/* Of a resource, kept between passes. */
struct status_write_record {
    bool is_written;
    int64_t wrote_ms;    /* the last time, monotonic */
    const char *dropped; /* the field that the cluster did not store; a literal; NULL: none */
};

/* False when the write was postponed. status is NULL, or equal to the stored one, when there is
 * nothing to write. */
bool status_write(struct reconcile *request, const struct status_write_record *record,
                  json_t *status);
/* Records how a write ended; writes other than of a status are ignored. */
void status_write_note(struct status_write_record *record, const struct written *written);

/* Asks for another pass after left_ms, or earlier if that was asked for. */
void status_write_requeue(struct reconcile *request, int64_t left_ms);
