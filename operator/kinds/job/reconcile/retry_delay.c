// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/retry_delay.h"

#include "lib/time/clock.h"
#include "operator/control/retry_pace.h"

enum { MIN_MS = 1000, MAX_MS = 60000, DOUBLINGS_MAX = 6 };

void retry_delay_rest(struct retry_delay *delay, int64_t even_ms) {
    delay->failures++;
    delay->not_before_ms = clock_monotonic_ms() + retry_pace_spread_ms(even_ms);
}

void retry_delay_note(struct retry_delay *delay) {
    retry_delay_rest(delay,
                     MIN((int64_t)MIN_MS << MIN(delay->failures, DOUBLINGS_MAX), (int64_t)MAX_MS));
}

bool retry_delay_is_over(struct reconcile *request, const struct retry_delay *delay) {
    return delay->failures == 0 ||
           reconcile_may_retry(request, delay->not_before_ms, delay->failures);
}
