/* answer_memory.h: how much memory the answers of a worker's model servers may take together, from
 * their first bytes to the row that is made of them: with 1,024 requests in flight it would be 32
 * GiB and their copies. Small answers do not count. Any thread. */
#pragma once

#include "lib/base.h"

#include <stdatomic.h>

enum {
    ANSWER_MEMORY_SMALL = 64 << 10, /* bytes of an answer that does not count */
    ANSWER_MEMORY_COPIES = 4, /* an answer beside its row; each may have room for twice its size */
};

struct answer_memory {
    atomic_llong used;
    int64_t most; /* bytes, with the copies */
};

/* For a pod with that limit of memory (0: none): a quarter of it, 128 MiB to 1 GiB. */
int64_t answer_memory_most(int64_t limit_bytes);
/* Takes what an answer of that size needs beyond *held, which it has already. False: there is not
 * as much left, and nothing changes. One answer alone always gets it. */
bool answer_memory_take(struct answer_memory *memory, size_t size, int64_t *held);
/* All that it holds; *held becomes 0. */
void answer_memory_give_back(struct answer_memory *memory, int64_t *held);
