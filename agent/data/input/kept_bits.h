/* kept_bits.h: a set of items of a list (list.h) as bits: which of the items that were to be scored
 * have a result. */
#pragma once

#include "agent/data/input/list_merge.h"

struct kept_bits {
    uint8_t *bits; /* owned; the lowest bit of a byte is the first item */
    int64_t count;
};
void kept_bits_release(struct kept_bits *bits); /* for AUTO, too */
/* Does nothing beyond the last item. */
void kept_bits_set(struct kept_bits *bits, int64_t item, bool has_result);
/* For list_merge.h; borrowed. */
struct list_results kept_bits_results(const struct kept_bits *bits);
