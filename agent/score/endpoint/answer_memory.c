// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/answer_memory.h"

static const int64_t least = INT64_C(128) << 20, greatest = INT64_C(1) << 30;

int64_t answer_memory_most(int64_t limit_bytes) {
    return limit_bytes ? MAX(MIN(limit_bytes / 4, greatest), least) : greatest;
}

bool answer_memory_take(struct answer_memory *memory, size_t size, int64_t *held) {
    int64_t wanted = size > ANSWER_MEMORY_SMALL ? ANSWER_MEMORY_COPIES * (int64_t)size : 0;
    int64_t more = wanted - *held;
    if (more <= 0) {
        return true;
    }
    int64_t used = atomic_fetch_add(&memory->used, more) + more;
    if (used > memory->most && used > wanted) {
        atomic_fetch_sub(&memory->used, more);
        return false;
    }
    *held = wanted;
    return true;
}

void answer_memory_give_back(struct answer_memory *memory, int64_t *held) {
    atomic_fetch_sub(&memory->used, *held);
    *held = 0;
}
