// SPDX-License-Identifier: Apache-2.0
#include "lib/time/cron.h"

#include "lib/time/calendar.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NO_LOCAL = -1, DAY_S = 86400, HOUR_S = 3600, TEXT_MAX = 128 };

/* ---- reading -------------------------------------------------------------------------------- */

struct field {
    const char *name;
    int min, max;
    const char *words; /* three letters each, from min on; NULL: none */
};
static const struct field fields[] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},
    {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    {"weekday", 0, 7, "SUNMONTUEWEDTHUFRISAT"},
};
enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };
static_assert(ARRAY_LEN(fields) == FIELD_COUNT, "one row per field");

static const char *const shortcuts[][2] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

static bool read_value(const struct field *field, const char **text, int *ret_value) {
    const char *at = *text;
    int value = 0;
    if (isdigit((unsigned char)*at)) {
        for (; isdigit((unsigned char)*at) && at - *text < 3; at++) {
            value = 10 * value + *at - '0';
        }
        *text = at;
        *ret_value = value;
        return value >= field->min && value <= field->max;
    }
    for (size_t i = 0; field->words && field->words[3 * i]; i++) {
        if (strncasecmp(at, field->words + 3 * i, 3) == 0) {
            *text += 3;
            *ret_value = field->min + (int)i;
            return true;
        }
    }
    return false;
}

/* Parses "*", "5" or "1-5"; the first and last may end in "/2". */
static bool read_part(const struct field *field, const char *text, uint64_t *set) {
    int first = field->min, last = field->max, step = 1;
    bool is_one = false;
    if (*text == '*') {
        text++;
        last -= field->words && field->max == 7; /* 7 is Sunday, as 0 */
    } else {
        if (!read_value(field, &text, &first)) {
            return false;
        }
        last = first;
        is_one = *text != '-';
        if (!is_one) {
            text++;
            if (!read_value(field, &text, &last) || last < first) {
                return false;
            }
        }
    }
    if (*text == '/' && !is_one) {
        step = 0;
        for (text++; isdigit((unsigned char)*text) && step < 100; text++) {
            step = 10 * step + *text - '0';
        }
        if (step < 1 || step > field->max) {
            return false;
        }
    }
    for (int value = first; value <= last; value += step) {
        *set |= (uint64_t)1 << value;
    }
    return !*text;
}

static int read_field(const struct field *field, char *text, uint64_t *ret_set, struct error *err) {
    uint64_t set = 0;
    AUTO(text_freep) char *whole = x_strdup(text);
    bool is_sound = *text && text[strlen(text) - 1] != ',';
    char *rest = text;
    for (char *part; is_sound && (part = strsep(&rest, ","));) {
        is_sound = read_part(field, part, &set);
    }
    if (!is_sound) {
        return error_set(err, ERROR_INVALID,
                         "%s \"%s\": expected %d to %d%s, ranges A-B, steps */2 or A-B/2, or "
                         "lists of these",
                         field->name, whole, field->min, field->max,
                         field->words ? " or names of three letters" : "");
    }
    *ret_set = set;
    return 0;
}

static int read_fields(char *text, struct cron *cron, struct error *err) {
    uint64_t *const sets[] = {&cron->minutes, &cron->hours, &cron->days, &cron->months,
                              &cron->weekdays};
    static_assert(ARRAY_LEN(sets) == FIELD_COUNT, "one set per field");
    bool is_any[FIELD_COUNT], has_star[FIELD_COUNT];
    char *save = NULL, *word = strtok_r(text, " \t", &save);
    for (int i = 0; i < FIELD_COUNT; i++, word = strtok_r(NULL, " \t", &save)) {
        if (!word) {
            return error_set(
                err, ERROR_INVALID,
                "%d fields, 5 are expected (minute, hour, day of month, month, weekday)", i);
        }
        is_any[i] = *word == '*';
        has_star[i] = strchr(word, '*') != NULL;
        if (read_field(&fields[i], word, sets[i], err) < 0) {
            return -1;
        }
    }
    if (word) {
        return error_set(err, ERROR_INVALID, "more than 5 fields: unexpected \"%s\"", word);
    }
    cron->weekdays |= cron->weekdays >> 7 & 1;
    cron->is_either_day = !is_any[DAY] && !is_any[WEEKDAY];
    cron->is_elapsed = has_star[MINUTE] || has_star[HOUR];
    return 0;
}

/* ---- days ----------------------------------------------------------------------------------- */

static bool has(uint64_t set, int value) {
    return set >> value & 1;
}

static bool is_day(const struct cron *cron, int64_t days) {
    struct calendar_date date = calendar_of(days);
    bool of_month = has(cron->days, date.day);
    bool of_week = has(cron->weekdays, calendar_weekday(days));
    return has(cron->months, date.month) &&
           (cron->is_either_day ? of_month || of_week : of_month && of_week);
}

/* The first minute at or after `from` that fires, in local time without clock changes; NO_LOCAL:
 * none before `until`. */
static int64_t next_local(const struct cron *cron, int64_t from_s, int64_t until_s) {
    int64_t minute = (from_s + 59) / 60;
    while (60 * minute < until_s) {
        int64_t day = minute / 1440;
        int hour = (int)(minute / 60 % 24);
        if (!is_day(cron, day)) {
            minute = 1440 * (day + 1);
        } else if (!has(cron->hours, hour)) {
            minute = 60 * (minute / 60 + 1);
        } else if (!has(cron->minutes, (int)(minute % 60))) {
            minute++;
        } else {
            return 60 * minute;
        }
    }
    return NO_LOCAL;
}

int cron_parse(const char *text, struct cron *ret_cron, struct error *err) {
    struct cron cron = {0};
    for (size_t i = 0; i < ARRAY_LEN(shortcuts); i++) {
        text = strcmp(text, shortcuts[i][0]) == 0 ? shortcuts[i][1] : text;
    }
    if (*text == '@') {
        return error_set(err, ERROR_INVALID,
                         "\"%.32s\": @hourly, @daily, @midnight, @weekly, @monthly, @yearly and "
                         "@annually are supported",
                         text);
    }
    if (strlen(text) > TEXT_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d characters", TEXT_MAX);
    }
    AUTO(text_freep) char *copy = x_strdup(text);
    if (read_fields(copy, &cron, err) < 0) {
        return -1;
    }
    if (next_local(&cron, 0, (int64_t)CRON_YEARS_MAX * 366 * DAY_S) == NO_LOCAL) {
        return error_set(err, ERROR_INVALID, "\"%s\" never fires: the day does not exist", text);
    }
    *ret_cron = cron;
    return 0;
}

/* ---- in a zone ------------------------------------------------------------------------------ */

/* Follows the wall clock: a time skipped by the change at the span's start fires there; a repeated
 * one has fired. Returns the instant, or NO_LOCAL. from_s is in the span. */
static int64_t next_by_clock(const struct cron *cron, const struct zone *zone,
                             const struct zone_span *span, int64_t from_s, int64_t until_s) {
    int64_t from_local_s = from_s + span->offset_s;
    if (span->since_s != INT64_MIN) {
        int64_t before_s = span->since_s + zone_find_span(zone, span->since_s - 1).offset_s;
        int64_t behind_s = span->since_s + span->offset_s;
        if (behind_s > before_s && from_s == span->since_s &&
            next_local(cron, before_s, behind_s) != NO_LOCAL) {
            return from_s;
        }
        from_local_s = MAX(from_local_s, before_s);
    }
    int64_t local_s = next_local(cron, from_local_s, until_s + span->offset_s);
    return local_s == NO_LOCAL ? NO_LOCAL : local_s - span->offset_s;
}

int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after_s) {
    int64_t end_s = after_s + (int64_t)CRON_YEARS_MAX * 366 * DAY_S;
    for (int64_t from_s = after_s + 1; from_s < end_s;) {
        struct zone_span span = zone_find_span(zone, from_s);
        int64_t until_s = MIN(span.until_s, end_s), found_s;
        if (cron->is_elapsed) {
            int64_t local_s = next_local(cron, from_s + span.offset_s, until_s + span.offset_s);
            found_s = local_s == NO_LOCAL ? NO_LOCAL : local_s - span.offset_s;
        } else {
            found_s = next_by_clock(cron, zone, &span, from_s, until_s);
        }
        if (found_s != NO_LOCAL) {
            return found_s;
        }
        from_s = until_s;
    }
    return -1;
}

int64_t cron_last(const struct cron *cron, const struct zone *zone, int64_t after_s,
                  int64_t now_s) {
    /* Start close to now: a schedule of every minute fires half a million times in a year. */
    static const int64_t near_s[] = {HOUR_S, DAY_S, 32 * DAY_S, 366 * DAY_S,
                                     (int64_t)CRON_YEARS_MAX * 366 * DAY_S};
    int64_t last_s = -1;
    for (size_t i = 0; i < ARRAY_LEN(near_s) && last_s < 0; i++) {
        int64_t from_s = MAX(after_s, now_s - near_s[i]);
        for (int64_t at_s = from_s; (at_s = cron_next(cron, zone, at_s)) >= 0 && at_s <= now_s;) {
            last_s = at_s;
        }
        if (from_s == after_s) {
            break;
        }
    }
    return last_s;
}
