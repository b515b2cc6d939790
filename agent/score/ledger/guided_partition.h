/* guided_partition.h: which slot works on which part of the input. PURE; used by the ledger alone.
 * Every slot works through a range of its own, so that a video's decoder continues where it is:
 * with cells dealt in turn, each slot would decode every frame. Ranges shrink towards the end
 * (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers C-36, 1987). When all
 * is cut, a slot without cells steals half of another slot's range, so nothing waits for a slow or
 * lost slot. Every call is O(1), amortised.
 * */
#pragma once

#include "lib/base.h"

struct guided_partition;

struct guided_partition *guided_partition_new(void);
void guided_partition_free(struct guided_partition *partition);
void guided_partition_extend(struct guided_partition *partition,
                             int64_t cells); /* more cells, at the end */

/* The next cells for this slot, one of `slots` at work: *ret_count consecutive cells, 1 to most.
 * Each cell is given once; -1: all were given. */
int64_t guided_partition_next(struct guided_partition *partition, int slot, int slots, int32_t most,
                              int32_t *ret_count);
