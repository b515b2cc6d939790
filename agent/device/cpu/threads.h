/* threads.h: a pool of threads for kernels. The caller works, too; one job at a time. */
#pragma once

#include "lib/error.h"

struct threads;

/* Works on items first..last - 1. */
typedef void threads_body(void *context, int64_t first, int64_t last);

/* count: 0 for WINDLASS_THREADS, else as many as this process may run on (affinity and cgroup). */
NODISCARD int threads_new(int count, struct threads **ret_threads, struct error *err);
void threads_free(struct threads *threads); /* waits for the threads to end */
int threads_count(const struct threads *threads);

/* Splits items 0..count - 1 into pieces of `grain` at least, which idle threads take one after the
 * other; returns when all are done. NULL threads: all in one piece, here. */
void threads_run(struct threads *threads, int64_t count, int64_t grain, threads_body *body,
                 void *context);
