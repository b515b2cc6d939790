/* trainer_blame.h: names the sample because of which a step or an evaluation has failed. A part of
 * trainer_state.h. */
#pragma once

#include "agent/train/dataset/order.h"
#include "agent/train/trainer_state.h"

/* After a run of the graph with these samples has failed: if the data are to blame (ERROR_INVALID),
 * replaces the error by one that names file and row of the sample: one whose label the network does
 * not have, or the one that fails alone, too. If none does, the part's first sample is named.
 * Always returns -1. */
int trainer_blame(struct trainer *trainer, const struct dataset *dataset, const struct batch *batch,
                  struct order_slice part, struct error *err);
