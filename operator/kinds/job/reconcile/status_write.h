/* status_write.h: when a resource's status is written: transitions at once; counters and messages a
 * second after the last write, later in a rush. kept: the kind's data between passes of that
 * resource, here "wroteMs", and "dropped", the field that the cluster did not store, if any. */
#pragma once

#include "operator/control/controller.h"

/* False when the write was postponed. status is NULL, or equal to the stored one, when there is
 * nothing to write. */
bool status_write(struct reconcile *request, const json_t *kept, json_t *status);
/* Records how a write ended; writes other than of a status are ignored. */
void status_write_note(json_t *kept, const struct written *written);

/* Asks for another pass after left_ms, or earlier if that was asked for. */
void status_write_requeue(struct reconcile *request, int64_t left_ms);
