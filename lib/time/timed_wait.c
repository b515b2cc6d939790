// SPDX-License-Identifier: Apache-2.0
#include "lib/time/timed_wait.h"

#include "lib/time/clock.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

enum { JOIN_STEP_MAX_MS = 20 };

void timed_wait_init(pthread_cond_t *changed) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool timed_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t until_ms) {
    int64_t at_ms = MAX(until_ms, 0);
    struct timespec until = {.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
    return pthread_cond_timedwait(changed, lock, &until) != ETIMEDOUT;
}

/* By steps: pthread_timedjoin_np has only the wall clock, and ThreadSanitizer does not know
 * pthread_clockjoin_np. */
bool timed_wait_join(pthread_t thread, int64_t until_ms) {
    for (int step_ms = 1; pthread_tryjoin_np(thread, NULL) != 0;
         step_ms = MIN(step_ms * 2, JOIN_STEP_MAX_MS)) {
        int64_t left_ms = until_ms - clock_monotonic_ms();
        if (left_ms <= 0) {
            return false;
        }
        poll(NULL, 0, (int)MIN((int64_t)step_ms, left_ms));
    }
    return true;
}
