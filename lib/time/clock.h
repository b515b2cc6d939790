/* clock.h: the current time. Nothing else reads clocks; pure modules take the time as an argument.
 */
#pragma once

#include "lib/base.h"

/* Since an arbitrary start; not affected by changes of the wall clock. */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_ns(void);
int64_t clock_wall_ms(void); /* milliseconds since 1970-01-01 UTC */

/* Writes RFC 3339 in UTC, to the second: "2026-11-21T04:00:00Z" (20 characters and NUL). */
void clock_format(int64_t wall_ms, char text[static 21]);
/* Milliseconds since 1970 of a text as clock_format writes it; -1: another text. */
int64_t clock_parse(const char *text);
