/* merges.h: pairs of tokens that become one, with their ranks. Read-only, and so safe in any
 * thread, once they are filled. */
#pragma once

#include "lib/base.h"

enum { MERGES_NONE = -1 };

struct merge {
    uint64_t pair; /* first id << 32 | second id */
    uint32_t rank;
    int32_t id; /* MERGES_NONE: free */
};
struct merges {
    struct merge *items;
    size_t count, capacity;
};
void merges_release(struct merges *merges);
void merges_add(struct merges *merges, struct merge merge); /* a later one replaces */
const struct merge *merges_find(const struct merges *merges, int32_t first, int32_t second);
