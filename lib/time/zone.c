// SPDX-License-Identifier: Apache-2.0
#include "lib/time/zone.h"

#include "lib/file.h"
#include "lib/time/calendar.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1 << 20,
    CHANGES_MAX = 100000,
    HEADER_BYTES = 44,
    TYPE_BYTES = 6,
    OFFSET_MAX_S = 26 * 3600, /* the limit of POSIX and TZif */
    NAME_MAX_BYTES = 64,
};

/* When clocks change in each year: "M3.5.0/2", "J60", "59". */
struct rule {
    enum { RULE_MONTH, RULE_JULIAN, RULE_DAY } kind;
    int month, week, day;
    int64_t time_s; /* of that day, in local time before the change */
};

/* The rules after the last listed change. */
struct tail {
    bool is_there, has_summer;
    int64_t offset_s, summer_offset_s;
    struct rule begins, ends; /* of summer time */
};

#define TIME_MAX_S ((int64_t)1 << 60) /* some files begin with the Big Bang, -1 << 59 */

struct zone {
    size_t count;
    int64_t *at_s;     /* [count], ascending: when clocks change */
    int64_t *offset_s; /* [count + 1]: offset before the first; [i + 1]: from at_s[i] on */
    struct tail tail;
};

void zone_free(struct zone *zone) {
    if (zone) {
        free(zone->at_s);
        free(zone->offset_s);
        free(zone);
    }
}

/* ---- the TZ text at the end ----------------------------------------------------------------- */

static bool skip(const char **text, char c) {
    bool is_there = **text == c;
    *text += is_there;
    return is_there;
}

static bool read_number(const char **text, int max, int *ret_number) {
    int number = 0, digits = 0;
    for (; isdigit((unsigned char)**text) && digits < 4; digits++) {
        number = 10 * number + *(*text)++ - '0';
    }
    *ret_number = number;
    return digits > 0 && number <= max;
}

/* "5", "-3:30", "+2:00:00" */
static bool read_time(const char **text, int64_t *ret_time_s) {
    int sign = skip(text, '-') ? -1 : 1, parts[3] = {0};
    if (sign > 0) {
        skip(text, '+');
    }
    if (!read_number(text, 167, &parts[0])) {
        return false;
    }
    for (int i = 1; i < 3 && skip(text, ':'); i++) {
        if (!read_number(text, 59, &parts[i])) {
            return false;
        }
    }
    *ret_time_s = sign * (3600 * (int64_t)parts[0] + 60 * parts[1] + parts[2]);
    return true;
}

/* Skips a name: "CET", "<+0330>". */
static bool skip_name(const char **text) {
    const char *start = *text;
    if (skip(text, '<')) {
        *text += strcspn(*text, ">");
        return skip(text, '>');
    }
    while (isalpha((unsigned char)**text)) {
        (*text)++;
    }
    return *text - start >= 3;
}

static bool read_rule(const char **text, struct rule *ret_rule) {
    struct rule rule = {.kind = RULE_DAY, .time_s = 2 * 3600};
    bool is_sound = false;
    if (skip(text, 'M')) {
        rule.kind = RULE_MONTH;
        is_sound = read_number(text, 12, &rule.month) && rule.month > 0 && skip(text, '.') &&
                   read_number(text, 5, &rule.week) && rule.week > 0 && skip(text, '.') &&
                   read_number(text, 6, &rule.day);
    } else {
        rule.kind = skip(text, 'J') ? RULE_JULIAN : RULE_DAY;
        is_sound = read_number(text, 365, &rule.day) && (rule.kind == RULE_DAY || rule.day > 0);
    }
    if (is_sound && skip(text, '/')) {
        is_sound = read_time(text, &rule.time_s);
    }
    *ret_rule = rule;
    return is_sound;
}

/* Parses "CET-1CEST,M3.5.0,M10.5.0/3". Its offsets are positive west of Greenwich. */
static bool read_tail(const char *text, struct tail *ret_tail) {
    struct tail tail = {.is_there = true};
    int64_t west_s = 0;
    if (!skip_name(&text) || !read_time(&text, &west_s)) {
        return false;
    }
    tail.offset_s = -west_s;
    if (*text) {
        tail.has_summer = true;
        tail.summer_offset_s = tail.offset_s + 3600;
        if (!skip_name(&text)) {
            return false;
        }
        if (*text != ',') {
            if (!read_time(&text, &west_s)) {
                return false;
            }
            tail.summer_offset_s = -west_s;
        }
        if (!skip(&text, ',') || !read_rule(&text, &tail.begins) || !skip(&text, ',') ||
            !read_rule(&text, &tail.ends)) {
            return false;
        }
    }
    *ret_tail = tail;
    return !*text && llabs(tail.offset_s) <= OFFSET_MAX_S &&
           llabs(tail.summer_offset_s) <= OFFSET_MAX_S;
}

/* When the rule applies in that year, in seconds since 1970 in local time. */
static int64_t rule_moment(const struct rule *rule, int64_t year) {
    int64_t day = calendar_days(year, 1, 1);
    if (rule->kind == RULE_DAY) {
        day += rule->day;
    } else if (rule->kind == RULE_JULIAN) { /* does not count 29 February */
        day += rule->day - 1 + (calendar_is_leap(year) && rule->day > 59);
    } else {
        int64_t first = calendar_days(year, rule->month, 1);
        int64_t in_month = calendar_month_days(year, rule->month);
        day = first + (7 + rule->day - calendar_weekday(first)) % 7 + 7 * (rule->week - 1);
        while (day >= first + in_month) {
            day -= 7;
        }
    }
    return 86400 * day + rule->time_s;
}

/* The last change at or before the instant, and the first after it. */
static struct zone_span span_of_tail(const struct tail *tail, int64_t at_s) {
    struct zone_span span = {INT64_MIN, INT64_MAX, tail->offset_s};
    if (!tail->has_summer) {
        return span;
    }
    int64_t year = calendar_of(at_s / 86400).year;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t begins_s = rule_moment(&tail->begins, y) - tail->offset_s;
        int64_t ends_s = rule_moment(&tail->ends, y) - tail->summer_offset_s;
        const struct {
            int64_t at_s, offset_s;
        } changes[] = {{begins_s, tail->summer_offset_s}, {ends_s, tail->offset_s}};
        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
            if (changes[i].at_s > at_s) {
                span.until_s = MIN(span.until_s, changes[i].at_s);
            } else if (changes[i].at_s >=
                       span.since_s) { /* summer time all year: its start counts */
                span.since_s = changes[i].at_s;
                span.offset_s = changes[i].offset_s;
            }
        }
    }
    return span;
}

struct zone_span zone_find_span(const struct zone *zone, int64_t at_s) {
    size_t low = 0, high = zone->count; /* the changes at or before it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->at_s[middle] <= at_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct zone_span span = {.since_s = low > 0 ? zone->at_s[low - 1] : INT64_MIN,
                             .until_s = low < zone->count ? zone->at_s[low] : INT64_MAX,
                             .offset_s = zone->offset_s[low]};
    if (low == zone->count && zone->tail.is_there) {
        struct zone_span later = span_of_tail(&zone->tail, at_s);
        span.since_s = MAX(span.since_s, later.since_s);
        span.until_s = later.until_s;
        span.offset_s = later.offset_s;
    }
    return span;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int64_t read_big(const unsigned char *bytes, int count) {
    uint64_t value = bytes[0] & 0x80 ? UINT64_MAX : 0;
    for (int i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return (int64_t)value;
}

/* The six counts of a header and the length of the block after it. */
struct block {
    int64_t is_utc, is_standard, leaps, changes, types, characters;
};

static bool read_header(const unsigned char *data, size_t size, struct block *ret_block) {
    if (size < HEADER_BYTES || memcmp(data, "TZif", 4) != 0 || data[4] < '2') {
        return false;
    }
    int64_t counts[6];
    for (int i = 0; i < 6; i++) {
        counts[i] = read_big(data + 20 + 4 * i, 4);
        if (counts[i] < 0 || counts[i] > CHANGES_MAX) {
            return false;
        }
    }
    *ret_block = (struct block){counts[0], counts[1], counts[2], counts[3], counts[4], counts[5]};
    return true;
}

static size_t block_bytes(const struct block *block, int time_bytes) {
    return (size_t)(block->changes * (time_bytes + 1) + block->types * TYPE_BYTES +
                    block->characters + block->leaps * (time_bytes + 4) + block->is_standard +
                    block->is_utc);
}

/* Times of 8 bytes, then the type of each, then the types: offset, is summer, name. */
static bool read_changes(const unsigned char *data, const struct block *block, struct zone *zone) {
    const unsigned char *types_of = data + 8 * block->changes, *types = types_of + block->changes;
    size_t count = (size_t)block->changes;
    zone->at_s = x_calloc(count + 1, sizeof *zone->at_s);
    zone->offset_s = x_calloc(count + 1, sizeof *zone->offset_s);
    for (size_t i = 0; i <= count; i++) {
        int64_t type = i > 0 ? types_of[i - 1] : 0;
        if (type >= block->types) {
            return false;
        }
        zone->offset_s[i] = read_big(types + TYPE_BYTES * type, 4);
        if (llabs(zone->offset_s[i]) > OFFSET_MAX_S) {
            return false;
        }
        if (i > 0) {
            zone->at_s[i - 1] = read_big(data + 8 * (i - 1), 8);
            if (llabs(zone->at_s[i - 1]) > TIME_MAX_S ||
                (i > 1 && zone->at_s[i - 1] <= zone->at_s[i - 2])) {
                return false;
            }
        }
    }
    zone->count = count;
    return true;
}

static bool read_file(const unsigned char *data, size_t size, struct zone *zone) {
    struct block block;
    if (!read_header(data, size, &block)) {
        return false;
    }
    size_t old = HEADER_BYTES + block_bytes(&block, 4); /* version 1, 32 bits: skipped */
    if (size < old || !read_header(data + old, size - old, &block)) {
        return false;
    }
    data += old + HEADER_BYTES;
    size -= old + HEADER_BYTES;
    size_t bytes = block_bytes(&block, 8);
    if (size < bytes || block.types < 1 || !read_changes(data, &block, zone)) {
        return false;
    }
    const char *text = (const char *)data + bytes; /* "\nCET-1CEST,...\n" */
    size_t left = size - bytes;
    const char *end = left > 1 && *text == '\n' ? memchr(text + 1, '\n', left - 1) : NULL;
    if (!end) {
        return false;
    }
    AUTO(text_freep) char *tail = x_strndup(text + 1, (size_t)(end - text - 1));
    return !*tail || read_tail(tail, &zone->tail);
}

int zone_parse(const void *data, size_t size, struct zone **ret_zone, struct error *err) {
    struct zone *zone = x_calloc(1, sizeof *zone);
    if (!read_file(data, size, zone)) {
        zone_free(zone);
        return error_set(err, ERROR_INVALID, "not a TZif file of version 2 or later");
    }
    *ret_zone = zone;
    return 0;
}

/* Letters, digits, _ + and - between single slashes, so the path stays in the folder. */
static bool is_name(const char *name) {
    static const char taken[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";
    size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_BYTES && strspn(name, taken) == length &&
           name[0] != '/' && name[length - 1] != '/' && !strstr(name, "//");
}

int zone_open(const char *name, struct zone **ret_zone, struct error *err) {
    const char *folder = getenv("TZDIR");
    folder = folder && *folder ? folder : ZONEINFO_FOLDER;
    if (strcmp(name, "UTC") == 0) {
        *ret_zone = x_calloc(1, sizeof **ret_zone);
        (*ret_zone)->offset_s = x_calloc(1, sizeof *(*ret_zone)->offset_s);
        return 0;
    }
    AUTO(text_freep) char *path = file_join(folder, name);
    AUTO(text_freep) char *bytes = NULL;
    size_t size = 0;
    struct error cause = {0};
    if (!is_name(name) || file_read(path, FILE_BYTES_MAX, &bytes, &size, &cause) < 0) {
        return error_set(err, ERROR_INVALID,
                         "unknown time zone \"%.64s\" (expected the name of a file in %s)", name,
                         folder);
    }
    return zone_parse(bytes, size, ret_zone, err) < 0 ? error_context(err, "%s", path) : 0;
}
