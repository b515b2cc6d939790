// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/fast/parallel.h"

#include <stdatomic.h>

struct loop {
    void (*body)(void *context, int index, int lane);
    void *context;
    int count;
    atomic_int next;
};

// A lane takes units until none is left; one thread may serve several lanes, one after the other.
static void run_lanes(void *context, int64_t first, int64_t last) {
    struct loop *loop = context;
    for (int64_t lane = first; lane < last; lane++) {
        int index = atomic_fetch_add(&loop->next, 1);
        while (index < loop->count) {
            loop->body(loop->context, index, (int)lane);
            index = atomic_fetch_add(&loop->next, 1);
        }
    }
}

void parallel_for(struct threads *threads, int count,
                  void (*body)(void *context, int index, int lane), void *context) {
    struct loop loop = {.body = body, .context = context, .count = count};
    int lanes = MIN(threads_count(threads), count);
    threads_run(lanes > 1 ? threads : NULL, lanes, 1, run_lanes, &loop);
}
