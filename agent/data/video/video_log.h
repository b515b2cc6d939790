/* video_log.h: converts libav's errors to ours. libav's logging is off; the text of its last error
 * on this thread goes into the next video_error. */
#pragma once

#include "lib/error.h"

/* "WHAT: libav's error (its last log line)". EXHAUSTED for a full disk, UNAVAILABLE for an I/O
 * error, else INVALID. Always -1. */
int video_error(struct error *err, int averror, const char *what);

/* Silences libav and keeps its last error's text for video_error. Idempotent; any thread. */
void video_log_quiet(void);
/* The text that is kept for this thread, without libav's prefix, or "". */
const char *video_log_text(void);
/* Clears the text that is kept for this thread. */
void video_log_clear(void);
