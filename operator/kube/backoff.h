/* backoff.h: how long to wait before asking an API server again. Pure but for the chance. */
#pragma once

#include "lib/base.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 30000, BACKOFF_RETRY_AFTER_MAX_MS = 300000 };

/* Zero-initialised: nothing has failed yet. Set it to zero again on success. */
struct backoff {
    int wait_ms;
};

/* After a failure: what the server asked for (retry_after_s, 0: it did not), else 0.1 s, doubling
 * to 30 s; each spread by half, so that not all clients come back at once. */
int backoff_next(struct backoff *backoff, int retry_after_s);
