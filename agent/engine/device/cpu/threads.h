/* threads.h: a pool of threads for kernels. The caller works, too; one job at a time. */
#pragma once

#include "lib/error.h"

struct threads;

enum { THREADS_MAX = 256 }; /* of a pool */

/* Works on items first..last - 1. */
typedef void threads_body(void *context, int64_t first, int64_t last);

/* count: 0: WINDLASS_THREADS if it is set, else the number of processors that this process may use
 * (affinity and cgroup). */
NODISCARD int threads_new(int count, struct threads **ret_threads, struct error *err);
void threads_free(struct threads *threads); /* waits for the threads to end */
int threads_count(const struct threads *threads);

/* Calls body(context, 0) on this thread, and body(context, i), 0 < i < threads_count, on each other
 * thread that wakes up before the call on this thread has returned. Returns when all calls that
 * were begun have returned. So any one call must be able to do all the work; it does not wait for
 * late threads. */
typedef void threads_each_body(void *context, int thread);
void threads_each(struct threads *threads, threads_each_body *body, void *context);

/* Splits items 0..count - 1 into pieces of at least `grain`, which idle threads take one after the
 * other; returns when all are done. threads NULL: one piece, on this thread. */
void threads_run(struct threads *threads, int64_t count, int64_t grain, threads_body *body,
                 void *context);
