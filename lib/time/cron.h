/* cron.h: crontab schedules of five fields, and the times they fire. Pure.
 *
 *   minute 0-59   hour 0-23   day of month 1-31   month 1-12 or JAN-DEC   weekday 0-7 or SUN-SAT
 *
 * A field is a list of `*`, N and A-B; `*` and A-B may have a step: `* /15` (without the blank),
 * A-B/2. 0 and 7 are Sunday. If both day of month and weekday are restricted (neither begins with
 * `*`), a day that matches either one fires. `@hourly @daily @midnight @weekly @monthly @yearly
 * @annually`.
 *
 * Changes of the clocks are handled as in Debian's cron: schedules with a `*` in hour or minute
 * follow elapsed time. All others follow the wall clock: a skipped time fires right after the gap,
 * a repeated one fires the first time only. */
#pragma once

#include "lib/time/zone.h"

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* bit n: the value n; weekday 7 is bit 0 */
    bool is_either_day; /* day of month or weekday must match; else both must */
    bool is_elapsed;    /* follows elapsed time (`*` in hour or minute), not the wall clock */
};

enum { CRON_YEARS_MAX = 12 /* 29 February comes every 4 or 8 years */ };

/* INVALID: a syntax error (`minute "61": expected 0 to 59, ...`), or a schedule that never fires
 * (`0 0 30 2 *`). */
NODISCARD int cron_parse(const char *text, struct cron *ret_cron, struct error *err);

/* The first time after `after_s` that fires, in seconds since 1970 UTC; -1: none within
 * CRON_YEARS_MAX years. */
int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after_s);
/* The last time in (after_s, now_s] that fires; -1: none. after_s may be years ago. */
int64_t cron_last(const struct cron *cron, const struct zone *zone, int64_t after_s, int64_t now_s);
