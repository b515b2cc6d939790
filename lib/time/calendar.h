/* calendar.h: converts between days since 1970-01-01 and Gregorian dates, years 1 to 9999. Pure. */
#pragma once

#include "lib/base.h"

struct calendar_date {
    int64_t year;
    int month, day; /* 1 to 12, 1 to 31 */
};

int64_t calendar_days(int64_t year, int month, int day); /* days since 1970-01-01 */
struct calendar_date calendar_of(int64_t days);          /* the date of that day */
bool calendar_is_leap(int64_t year);
int calendar_month_days(int64_t year, int month); /* 28 to 31 */
int calendar_weekday(int64_t days);               /* 0: Sunday */
