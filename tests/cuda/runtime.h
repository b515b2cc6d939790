/* runtime.h: functions of the stand-in of CUDA's runtime that those of cuDNN and cuBLASLt need, in
 * whose program they are loaded. */
#pragma once

#include <functional>

/* Queues work on the stream (a cudaStream_t), or keeps it while the stream is captured; without a
 * stream the work runs now, after all that any stream has queued. */
__attribute__((visibility("default"))) void emulated_enqueue(void *stream,
                                                             std::function<void()> work);
__attribute__((visibility("default"))) void emulated_enqueue(std::function<void()> work);
/* Adds a line for tests: which library got which request. */
__attribute__((visibility("default"))) void emulated_note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
