// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/parallel.h"

#include <stdatomic.h>
#if defined __x86_64__
#include <xmmintrin.h>
#endif

enum { CACHE_LINE = 64 };

struct share {
    _Alignas(CACHE_LINE) atomic_int next;
    int end;
};

struct loop {
    void (*body)(void *context, int index, int lane);
    void *context;
    int lanes;
    struct share *shares; /* one per lane */
};

static void take_share(const struct loop *loop, struct share *share, int lane) {
    for (;;) {
        int index = atomic_load(&share->next);
        index = index < share->end ? atomic_fetch_add(&share->next, 1) : index;
        if (index >= share->end) {
            return;
        }
        loop->body(loop->context, index, lane);
    }
}

// Lets numbers below 1.2e-38, which have no full exponent, count as 0 in this thread: they take the
// processor a hundred times as long, and saturated gates and masked scores make many. Returns the
// setting before.
static unsigned flush_tiny(void) {
#if defined __x86_64__
    enum { RESULTS = 0x8000, OPERANDS = 0x40 };
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | RESULTS | OPERANDS);
    return before;
#else
    return 0;
#endif
}

static void restore(unsigned setting UNUSED) {
#if defined __x86_64__
    _mm_setcsr(setting);
#endif
}

// A lane begins with its share of the units, which is the same in the layers before and after, so
// it often reads what it wrote. Then it takes remaining units of other lanes.
static void run_lane(void *context, int lane) {
    const struct loop *loop = context;
    unsigned before = flush_tiny();
    for (int i = 0; i < loop->lanes; i++) {
        take_share(loop, &loop->shares[(lane + i) % loop->lanes], lane);
    }
    restore(before);
}

void parallel_for(struct threads *threads, int count,
                  void (*body)(void *context, int index, int lane), void *context) {
    int lanes = threads_count(threads);
    struct share shares[THREADS_MAX];
    struct loop loop = {.body = body, .context = context, .lanes = lanes, .shares = shares};
    for (int i = 0; i < lanes; i++) {
        atomic_init(&shares[i].next, (int)((int64_t)count * i / lanes));
        shares[i].end = (int)((int64_t)count * (i + 1) / lanes);
    }
    threads_each(count > 1 ? threads : NULL, run_lane, &loop);
}
