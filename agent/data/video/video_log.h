/* video_log.h: converts libav's errors to struct error. libav's log lines are not printed; the last
 * line of each thread is kept and becomes part of the next video_error of that thread. Lines that
 * libav logs in its own decoding threads are dropped; then the error has only libav's name for the
 * error code. */
#pragma once

#include "lib/error.h"

/* "WHAT: libav's error (its last log line)". EXHAUSTED for a full disk, UNAVAILABLE for an I/O
 * error, else INVALID. Always returns -1. Clears the line that is kept. */
int video_error(struct error *err, int averror, const char *what);

/* Silences libav and begins to keep its last error line for video_error. Idempotent; any thread. */
void video_log_quiet(void);
/* The line that is kept for this thread, without libav's prefix, or "". Valid until this thread's
 * next libav error, video_error or video_log_clear. */
const char *video_log_text(void);
/* Clears the line that is kept for this thread. */
void video_log_clear(void);
