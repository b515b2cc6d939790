/* text_ids.h: the ids of a text's tokens. */
#pragma once

#include "lib/base.h"

/* Ids that grow; kept when cleared. {0} is empty. */
struct text_ids {
    int32_t *items;
    size_t count, capacity;
};
void text_ids_release(struct text_ids *ids);
void text_ids_add(struct text_ids *ids, int32_t id);
