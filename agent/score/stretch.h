/* stretch.h: who goes where in the input. PURE; used by the ledger alone. Every worker walks along
 * a stretch of its own, so that the decoder of a video goes on where it stands: with mini-batches
 * dealt out in turn each worker would decode everybody's frames. Stretches are cut so that they
 * shrink towards the end (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers
 * C-36, 1987); when all is cut, whoever has nothing takes half of what another has before it, so
 * nobody is waited for and nothing waits for a worker that left. Every call is O(1), amortised.
 */
#pragma once

#include "lib/base.h"

struct stretches;

struct stretches *stretches_new(int64_t total);
void stretches_free(struct stretches *stretches);

/* The next mini-batch for this worker, one of `workers` at work; each of 0..total-1 is given once,
 * to whomever; -1: all were given. */
int64_t stretches_next(struct stretches *stretches, int worker, int workers);
