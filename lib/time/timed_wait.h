/* timed_wait.h: waits of threads that end at a time of the monotonic clock (clock_monotonic_ms).
 * Waits by the wall clock end too early or hours too late when that clock is set. Nothing else
 * calls pthread's timed functions (tests/lint/clocks.sh). */
#pragma once

#include "lib/base.h"

#include <pthread.h>

/* Initialises a condition for timed_wait. */
void timed_wait_init(pthread_cond_t *changed);

/* The caller holds the lock and, as with every condition, looks afterwards whether what it waits
 * for has happened. False: until_ms has passed. */
bool timed_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t until_ms);

/* Joins the thread. False: it still runs at until_ms. Notices an end within 20 ms. */
bool timed_wait_join(pthread_t thread, int64_t until_ms);
