/* cron.h: the five fields of a crontab line, and when they fire next. Pure.
 *
 *   minute 0-59   hour 0-23   day of month 1-31   month 1-12 or JAN-DEC   weekday 0-7 or SUN-SAT
 *
 * A field is a list of `*`, N, A-B, and of the first and last of these with a step: `* /15`, A-B/2
 * (without the blank). 0 and 7 are Sunday. Where day of month and weekday are both given (neither
 * begins with `*`), either will do. `@hourly @daily @midnight @weekly @monthly @yearly @annually`.
 *
 * When clocks are changed it does as Debian's cron: fields with a `*` in hour or minute go by the
 * time that passes, whatever clocks show twice or not at all. All others go by the clock: a time
 * that is skipped fires at once behind the gap, one that comes twice fires the first time. */
#pragma once

#include "lib/time/zone.h"

struct cron {
    uint64_t minutes, hours, days, months, weekdays; /* bit n: the value n; weekday 7 is bit 0 */
    bool either_day;                                 /* day of month or weekday; else both */
    bool is_steady;                                  /* goes by the time that passes */
};

enum { CRON_YEARS_MAX = 12 /* 29 February comes every 4 or 8 years */ };

/* INVALID: `minute "61": 0 to 59 are possible`; also of what never comes: `0 0 30 2 *`. */
NODISCARD int cron_parse(const char *text, struct cron *ret_cron, struct error *err);

/* The first time that fires after `after_s` (seconds since 1970, UTC); -1: none in 12 years. */
int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after_s);
/* The last one in (after_s, now_s]; -1: none. after_s may be years ago. */
int64_t cron_last(const struct cron *cron, const struct zone *zone, int64_t after_s, int64_t now_s);
