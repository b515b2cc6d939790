/* runtime.h: functions of the stand-in of CUDA's runtime that those of cuDNN and cuBLASLt need, in
 * whose program they are loaded. */
#pragma once

#include <functional>
#include <stddef.h>

#define EMULATED __attribute__((visibility("default")))

/* Queues work on the stream (a cudaStream_t), or keeps it while the stream is captured. The default
 * stream is refused: the streams of the engine do not wait for it. */
EMULATED void emulated_enqueue(void *stream, std::function<void()> work);
/* For such work, while it is done: it reads, or writes, these bytes. */
EMULATED void emulated_touch(const void *at, size_t size, bool is_write);
/* Bytes of the device's memory from here to the end of their allocation; 0: it is not one. */
EMULATED size_t emulated_room(const void *at);
/* Why a library refuses a call: what its manual forbids is a fault, whatever the caller does then.
 */
EMULATED void emulated_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Adds a line for tests: which library got which request. */
EMULATED void emulated_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
