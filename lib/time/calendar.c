// SPDX-License-Identifier: Apache-2.0
#include "lib/time/calendar.h"

bool calendar_is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int calendar_month_days(int64_t year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && calendar_is_leap(year));
}

/* Leap days from year 1 to the end of the year before. */
static int64_t leaps_before(int64_t year) {
    int64_t before = year - 1;
    return before / 4 - before / 100 + before / 400;
}

static int64_t year_start(int64_t year) {
    return 365 * (year - 1970) + leaps_before(year) - leaps_before(1970);
}

int64_t calendar_days(int64_t year, int month, int day) {
    int64_t days = year_start(year) + day - 1;
    for (int i = 1; i < month; i++) {
        days += calendar_month_days(year, i);
    }
    return days;
}

struct calendar_date calendar_of(int64_t days) {
    int64_t year = MAX(1, 1970 + days * 400 / 146097); /* the days of 400 years */
    while (year > 1 && year_start(year) > days) {
        year--;
    }
    while (year_start(year + 1) <= days) {
        year++;
    }
    struct calendar_date date = {.year = year, .month = 1};
    int64_t left = days - year_start(year);
    while (date.month < 12 && left >= calendar_month_days(year, date.month)) {
        left -= calendar_month_days(year, date.month++);
    }
    date.day = (int)left + 1;
    return date;
}

int calendar_weekday(int64_t days) {
    return (int)(((days % 7) + 11) % 7); /* 1970-01-01 was a Thursday */
}
