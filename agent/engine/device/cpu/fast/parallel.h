/* parallel.h: divides units of work among the device's threads, each with its part of the scratch
 * memory. */
#pragma once

#include "agent/engine/device/cpu/threads.h"

/* Calls body(context, index, lane) for every index in [0, count). Concurrent calls have different
 * lanes, in [0, threads_count). Returns when all are done. Meanwhile numbers below 1.2e-38 count as
 * 0 in floating-point operations of these threads. */
void parallel_for(struct threads *threads, int count,
                  void (*body)(void *context, int index, int lane), void *context);
