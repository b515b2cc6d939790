/* guided_partition.h: divides the input among slots. Pure; used by the ledger only. Every slot
 * works through a separate range, so that a video's decoder continues at its position; if cells
 * were given to slots in turn, each slot would decode every frame. Ranges shrink towards the end
 * (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Computers C-36, 1987). A cell is
 * dealt when a slot gets it for the first time. When everything is divided, a slot without cells
 * steals half of another slot's range, so no cell waits for a slow or lost slot. Every call is
 * O(1), amortised. */
#pragma once

#include "lib/base.h"

struct guided_partition;

struct guided_partition *guided_partition_new(void);
void guided_partition_free(struct guided_partition *partition);
void guided_partition_extend(struct guided_partition *partition,
                             int64_t cells); /* adds cells at the end */

/* The next cells for this slot, one of `slots` active ones: *ret_count consecutive cells, 1 to
 * `most`. Each cell is dealt once; -1: all have been dealt. */
int64_t guided_partition_next(struct guided_partition *partition, int slot, int slots, int32_t most,
                              int32_t *ret_count);
