/* applying.h: an optimizer's work on some parameters, shared by threads. A parameter is one
 * thread's: the numbers are the same whatever their count. */
#pragma once

#include "agent/train/optimizer.h"

/* As optimizer_apply; threads: the caller among them. */
void applying_run(struct optimizer *optimizer, size_t first, size_t count, int64_t step,
                  double rate, int threads);
