/* threads.h: a pool of threads for kernels. The caller works, too; one job at a time. */
#pragma once

#include "lib/error.h"

struct threads;

enum { THREADS_MAX = 256 }; /* of a pool */

/* Works on items first..last - 1. */
typedef void threads_body(void *context, int64_t first, int64_t last);

/* count: 0 for WINDLASS_THREADS, else as many as this process may run on (affinity and cgroup). */
NODISCARD int threads_new(int count, struct threads **ret_threads, struct error *err);
void threads_free(struct threads *threads); /* waits for the threads to end */
int threads_count(const struct threads *threads);

/* Calls body(context, 0) here and body(context, i), 0 < i < threads_count, on each other thread
 * that is awake before the one here has returned; returns when all that were begun have. So one
 * call must be able to do all the work, and does not wait for late threads. */
typedef void threads_each_body(void *context, int thread);
void threads_each(struct threads *threads, threads_each_body *body, void *context);

/* Splits items 0..count - 1 into pieces of `grain` at least, which idle threads take one after the
 * other; returns when all are done. NULL threads: all in one piece, here. */
void threads_run(struct threads *threads, int64_t count, int64_t grain, threads_body *body,
                 void *context);
