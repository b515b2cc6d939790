// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/text_ids.h"

#include <stdlib.h>

void text_ids_release(struct text_ids *ids) {
    free(ids->items);
    *ids = (struct text_ids){0};
}

void text_ids_add(struct text_ids *ids, int32_t id) {
    if (ids->count == ids->capacity) {
        ids->capacity = MAX(2 * ids->capacity, (size_t)64);
        ids->items = x_realloc_array(ids->items, ids->capacity, sizeof *ids->items);
    }
    ids->items[ids->count++] = id;
}
