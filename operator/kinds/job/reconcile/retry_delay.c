// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/retry_delay.h"

#include "lib/time/clock.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/reconcile/status_write.h"

enum {
    MIN_MS = 1000,
    MAX_MS = 60000,
    DOUBLINGS_MAX = 6,
    REPEAT_MAX_MS = 180000,
    REPEAT_DOUBLINGS_MAX = 8,
    REPEAT_FORGET_MS = 600000,
};

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

static bool is_lately(const struct retry_delay_repeat *repeat, int64_t now_ms) {
    return repeat->times > 0 && now_ms < repeat->last_ms + REPEAT_FORGET_MS;
}

int64_t retry_delay_repeat_left_ms(const struct retry_delay_repeat *repeat, int64_t now_ms) {
    if (!is_lately(repeat, now_ms)) {
        return 0;
    }
    int64_t pause_ms = MIN((int64_t)MIN_MS << MIN(repeat->times - 1, REPEAT_DOUBLINGS_MAX),
                           (int64_t)REPEAT_MAX_MS);
    return MAX(repeat->last_ms + pause_ms - now_ms, (int64_t)0);
}

bool retry_delay_repeat_is_over(struct reconcile *request,
                                const struct retry_delay_repeat *repeat) {
    int64_t left_ms = retry_delay_repeat_left_ms(repeat, request->monotonic_ms);
    if (left_ms > 0) {
        status_write_requeue(request, left_ms);
    }
    return left_ms == 0;
}

void retry_delay_repeat_note(struct retry_delay_repeat *repeat, int64_t now_ms) {
    repeat->times = is_lately(repeat, now_ms) ? repeat->times + 1 : 1;
    repeat->last_ms = now_ms;
}
