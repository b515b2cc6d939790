/* retry_delay.h: when something that failed may be tried again: about 1 s after the first failure,
 * doubling up to a minute, by chance a quarter shorter or longer; and then when it is its turn
 * among all that fails (control/retry_pace.h). And when something may be done again that others
 * cause, who may do so all the time. */
#pragma once

#include "operator/control/reconcile.h"

/* Of one thing; zero at first, and again when it succeeds. */
struct retry_delay {
    int failures;          /* in a row; 0: nothing delays it */
    int64_t not_before_ms; /* monotonic */
};

/* One more failure. */
void retry_delay_note(struct retry_delay *delay);
/* One more failure, after which it rests for another time than the usual one, on average. */
void retry_delay_rest(struct retry_delay *delay, int64_t even_ms);
/* Whether it may be tried in this pass; ask once for each try. False: the resource is reconciled
 * again when it may. */
bool retry_delay_is_over(struct reconcile *request, const struct retry_delay *delay);

/* What is done at once, unless it comes again within ten minutes: then 1 s after the first time,
 * 2 s after the next, doubling up to three minutes. */
struct retry_delay_repeat {
    int times; /* lately */
    int64_t last_ms;
};

/* 0: it may be done now. */
int64_t retry_delay_repeat_left_ms(const struct retry_delay_repeat *repeat, int64_t now_ms);
/* Whether it may be done in this pass. False: the resource is reconciled again when it may. */
bool retry_delay_repeat_is_over(struct reconcile *request, const struct retry_delay_repeat *repeat);
/* It is done. */
void retry_delay_repeat_note(struct retry_delay_repeat *repeat, int64_t now_ms);
