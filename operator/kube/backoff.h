/* backoff.h: the delay before the next request to an API server after a failure. Pure except for
 * randomness. */
#pragma once

#include "lib/base.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 30000, BACKOFF_RETRY_AFTER_MAX_MS = 300000 };

/* Zero-initialised: no failures yet. Reset it to zero on success. */
struct backoff {
    int wait_ms;
};

/* The delay after a failure: the server's request (retry_after_s; 0: none), or 0.1 s, doubling to
 * 30 s. It is varied by half, so that clients do not retry at the same time. */
int backoff_next(struct backoff *backoff, int retry_after_s);
