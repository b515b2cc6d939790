/* device_apart.h: the CPU's kernels behind the manners of a card, so that what is written for one
 * can be proven without: memory of its own, which the host must not touch (a pointer into it is a
 * SIGSEGV; a host's pointer given to a kernel ends the test with a line), and time of its own:
 * steps are only started, and run later, in a thread. New memory is full of NaN. */
#pragma once

#include "agent/engine/device/kernel.h"

/* threads: of the kernels. device_close ends it, and the test where memory was not given back or
 * something was written behind its end. */
struct device *device_apart_open(int threads);

/* Where the bytes behind a pointer of the newest such device are; another pointer as it is. Found
 * by dlsym, by tests/fakegpu. */
__attribute__((visibility("default"))) void *device_apart_real(const void *pointer, size_t size);
