// SPDX-License-Identifier: Apache-2.0
/* Waits last as long as they should though the wall clock is an hour off while they begin. */
#include "lib/time/timed_wait.h"

#include "lib/time/clock.h"
#include "tests/test.h"
#include "tests/wall_clock.h"

#include <poll.h>

enum { SHORT_MS = 100, LONG_MS = 30000, HOUR_S = 3600 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

static int64_t waits_ms(int64_t ms, bool *ret_has_changed) {
    int64_t start_ms = clock_monotonic_ms();
    pthread_mutex_lock(&lock);
    while ((*ret_has_changed = timed_wait(&changed, &lock, start_ms + ms)) &&
           clock_monotonic_ms() - start_ms < SHORT_MS) { /* spurious */
    }
    pthread_mutex_unlock(&lock);
    return clock_monotonic_ms() - start_ms;
}

static void a_wait_lasts_its_time(void) {
    for (wall_clock_off_s = -HOUR_S; wall_clock_off_s <= HOUR_S; wall_clock_off_s += HOUR_S) {
        bool has_changed = true;
        timed_wait_init(&changed);
        int64_t took_ms = waits_ms(SHORT_MS, &has_changed);
        CHECK(!has_changed);
        CHECK(took_ms >= SHORT_MS && took_ms < LONG_MS);
        CHECK(!timed_wait_join(pthread_self(), clock_monotonic_ms() - 1)); /* long ago */
        pthread_cond_destroy(&changed);
    }
    wall_clock_off_s = 0;
}

static void *signal_later(void *unused) {
    poll(NULL, 0, SHORT_MS);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void a_change_and_an_end_come_before_it(void) {
    for (wall_clock_off_s = -HOUR_S; wall_clock_off_s <= HOUR_S; wall_clock_off_s += HOUR_S) {
        pthread_t thread;
        timed_wait_init(&changed);
        int64_t start_ms = clock_monotonic_ms();
        pthread_mutex_lock(&lock);
        CHECK_INT(pthread_create(&thread, NULL, signal_later, NULL), 0);
        CHECK(timed_wait(&changed, &lock, start_ms + LONG_MS));
        pthread_mutex_unlock(&lock);
        CHECK(timed_wait_join(thread, start_ms + LONG_MS));
        CHECK(clock_monotonic_ms() - start_ms < LONG_MS);
        pthread_cond_destroy(&changed);
    }
    wall_clock_off_s = 0;
}

int main(void) {
    TEST(a_wait_lasts_its_time);
    TEST(a_change_and_an_end_come_before_it);
    return TEST_END();
}
