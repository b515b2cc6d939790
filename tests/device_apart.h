/* device_apart.h: the CPU's kernels with the restrictions of a GPU, so that code for GPUs can be
 * tested without one: separate memory, which the host must not touch (an access is a SIGSEGV; a
 * host's pointer given to a kernel ends the test with a message), and separate time: steps are only
 * started, and run later, in a thread. New memory is full of NaN. */
#pragma once

#include "agent/engine/device/kernel.h"

/* threads: for the kernels. device_close ends the test if memory was not given back or something
 * was written past its end. */
struct device *device_apart_open(int threads);

/* The real address of a pointer of the newest such device; other pointers unchanged. Found by
 * dlsym, by tests/fakegpu. */
__attribute__((visibility("default"))) void *device_apart_real(const void *pointer, size_t size);
