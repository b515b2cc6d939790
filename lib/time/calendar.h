/* calendar.h: days since 1970-01-01 and the dates of the Gregorian calendar, for zones and cron.
 * Pure; years 1 to 9999. */
#pragma once

#include "lib/base.h"

struct calendar_date {
    int64_t year;
    int month, day; /* from 1 */
};

int64_t calendar_days(int64_t year, int month, int day);
struct calendar_date calendar_of(int64_t days);
bool calendar_is_leap(int64_t year);
int calendar_month_days(int64_t year, int month);
int calendar_weekday(int64_t days); /* 0: Sunday */
