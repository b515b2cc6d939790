/* parallel.h: units of work over the device's threads, each with a piece of scratch of its own. */
#pragma once

#include "agent/engine/device/cpu/threads.h"

/* Calls body(context, index, lane) for every index in [0, count). Two calls at the same time have
 * different lanes, of [0, threads_count). Returns when all are done. */
void parallel_for(struct threads *threads, int count,
                  void (*body)(void *context, int index, int lane), void *context);
