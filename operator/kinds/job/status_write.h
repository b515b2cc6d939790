/* status_write.h: when a resource's status is written: transitions at once, counters and words a
 * second after the last, later in a rush. kept: what a kind keeps between passes of that resource;
 * in it "wroteMs", and "dropped", the field that the cluster did not store, while there is one. */
#pragma once

#include "operator/control/controller.h"

/* False when it was put off; NULL, or the same as stored: there is nothing to write. */
bool status_write(struct reconcile *request, const json_t *kept, json_t *status);
/* How a write ended; of others than a status' nothing is noted. */
void status_note(json_t *kept, const struct written *written);

/* Asks for another pass in so long, or earlier if that was asked for. */
void status_write_requeue(struct reconcile *request, int64_t left_ms);
