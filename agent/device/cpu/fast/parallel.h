/* parallel.h: a loop over several threads (OpenMP's, which oneDNN uses too: one pool, not two). */
#pragma once

#include "lib/base.h"

/* Calls body(context, index, thread) for every index in [0, count), thread in [0, threads). The
 * order is open; each index runs once; returns when all are done. */
void parallel_for(int threads, int count, void (*body)(void *context, int index, int thread),
                  void *context);
