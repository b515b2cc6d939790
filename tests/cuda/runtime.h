/* runtime.h: what the stand-ins of cuDNN and cuBLASLt need of that of CUDA's runtime, in whose
 * program they are loaded. */
#pragma once

#include <functional>

/* What the stream (a cudaStream_t) does when its turn comes, or what is kept while it is captured;
 * without a stream: now, behind all that was asked of any. */
__attribute__((visibility("default"))) void emulated_enqueue(void *stream,
                                                             std::function<void()> work);
__attribute__((visibility("default"))) void emulated_enqueue(std::function<void()> work);
/* A line for tests to read: which library was asked for what. */
__attribute__((visibility("default"))) void emulated_note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
