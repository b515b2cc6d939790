// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/merges.h"

#include "lib/number/keyed_hash.h"

#include <stdlib.h>

void merges_release(struct merges *merges) {
    free(merges->items);
    *merges = (struct merges){0};
}

static struct merge *place_of_pair(const struct merges *merges, uint64_t pair) {
    size_t mask = merges->capacity - 1;
    for (size_t at = keyed_hash_number(pair) & mask;; at = (at + 1) & mask) {
        struct merge *item = &merges->items[at];
        if (item->id == MERGES_NONE || item->pair == pair) {
            return item;
        }
    }
}

static void enlarge_merges(struct merges *merges) {
    struct merge *old = merges->items;
    size_t old_capacity = merges->capacity;
    merges->capacity = MAX(2 * old_capacity, (size_t)256);
    merges->items = x_realloc_array(NULL, merges->capacity, sizeof *merges->items);
    for (size_t i = 0; i < merges->capacity; i++) {
        merges->items[i].id = MERGES_NONE;
    }
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].id != MERGES_NONE) {
            *place_of_pair(merges, old[i].pair) = old[i];
        }
    }
    free(old);
}

void merges_add(struct merges *merges, struct merge merge) {
    if (2 * (merges->count + 1) > merges->capacity) {
        enlarge_merges(merges);
    }
    struct merge *place = place_of_pair(merges, merge.pair);
    merges->count += place->id == MERGES_NONE;
    *place = merge;
}

const struct merge *merges_find(const struct merges *merges, int32_t first, int32_t second) {
    if (merges->capacity == 0) {
        return NULL;
    }
    const struct merge *place =
        place_of_pair(merges, (uint64_t)(uint32_t)first << 32 | (uint32_t)second);
    return place->id == MERGES_NONE ? NULL : place;
}
