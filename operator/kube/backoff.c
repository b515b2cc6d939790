// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/backoff.h"

#include <stdlib.h>

int backoff_next(struct backoff *backoff, int retry_after_s) {
    int doubled_ms = MIN(MAX(backoff->wait_ms * 2, BACKOFF_MIN_MS), BACKOFF_MAX_MS);
    backoff->wait_ms = doubled_ms;
    if (retry_after_s > 0) { /* never earlier than requested */
        int asked_ms = MIN(retry_after_s, BACKOFF_RETRY_AFTER_MAX_MS / 1000) * 1000;
        return asked_ms + (int)(arc4random_uniform((uint32_t)asked_ms / 2 + 1));
    }
    return doubled_ms / 2 + (int)arc4random_uniform((uint32_t)doubled_ms + 1);
}
