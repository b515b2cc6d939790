/* guided_partition.h: who goes where in the input. PURE; used by the ledger alone. Every slot walks
 * along a stretch of its own, so that the decoder of a video goes on where it stands: with cells
 * dealt out in turn each slot would decode everybody's frames. Stretches are cut so that they
 * shrink towards the end (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers
 * C-36, 1987); when all is cut, whoever has nothing takes half of what another has before it, so
 * nobody is waited for and nothing waits for a slot that left. Every call is O(1), amortised.
 */
#pragma once

#include "lib/base.h"

struct guided_partition;

struct guided_partition *guided_partition_new(void);
void guided_partition_free(struct guided_partition *partition);
void guided_partition_extend(struct guided_partition *partition,
                             int64_t cells); /* so many more, at the end */

/* The next cells for this slot, one of `slots` at work: *ret_count of them, 1 to most, one behind
 * the other. Each cell is given once, to whomever; -1: all were given. */
int64_t guided_partition_next(struct guided_partition *partition, int slot, int slots, int32_t most,
                              int32_t *ret_count);
