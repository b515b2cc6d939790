// SPDX-License-Identifier: Apache-2.0
#include "agent/train/applying.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS_MAX = 16 }; /* more would only wait for memory */

struct applying {
    struct optimizer *optimizer;
    size_t end;
    int64_t step;
    double rate;
    atomic_size_t next;
};

static void *work(void *context) {
    struct applying *applying = context;
    size_t index = atomic_fetch_add(&applying->next, 1);
    while (index < applying->end) {
        optimizer_apply(applying->optimizer, index, 1, applying->step, applying->rate);
        index = atomic_fetch_add(&applying->next, 1);
    }
    return NULL;
}

/* Threads are started anew: some 30 us, where the work is milliseconds. */
void applying_run(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                  double rate, int threads) {
    struct applying applying = {
        .optimizer = optimizer, .end = first + count, .step = step, .rate = rate};
    pthread_t helpers[THREADS_MAX];
    size_t wanted = MIN((size_t)MIN(threads, THREADS_MAX), count), started = 0;
    atomic_init(&applying.next, first);
    while (started + 1 < wanted && pthread_create(&helpers[started], NULL, work, &applying) == 0) {
        started++;
    }
    work(&applying);
    while (started > 0) {
        pthread_join(helpers[--started], NULL);
    }
}
