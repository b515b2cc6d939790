/* trainer_rows.h: rows of the network do not depend on the other rows of their batch. A part of
 * trainer_state.h. */
#pragma once

#include "agent/train/trainer_state.h"

/* Runs the network in its inference form on a few samples together, each one alone, and one among
 * copies of another: each row must be the same, because BatchScore puts samples into batches as it
 * likes. On the rank that calls it. ERROR_INVALID: a row differs; the message has both numbers. A
 * network that takes one batch size only is checked with that one, and the log says so; batchSize 1
 * does not matter: the samples are several. */
NODISCARD int trainer_check_rows(struct trainer *trainer, struct error *err);
