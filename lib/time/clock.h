/* clock.h: the only readers of time. Pure modules take the time as an argument instead. */
#pragma once

#include "lib/base.h"

int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_ns(void);
int64_t clock_wall_ms(void); /* milliseconds since 1970-01-01 UTC */

/* RFC 3339, seconds, UTC: "2026-11-21T04:00:00Z" (20 characters and NUL). */
void clock_format(int64_t wall_ms, char text[static 21]);
/* Reads what clock_format writes. -1 when it is not such a text. */
int64_t clock_parse(const char *text);
