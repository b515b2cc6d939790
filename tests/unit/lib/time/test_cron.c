// SPDX-License-Identifier: Apache-2.0
/* SOAK_ROUNDS: multiplies the number of the oracle's tables. SOAK_SEED: their seed. */
#include "lib/time/cron.h"

#include "lib/time/calendar.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

static struct zone *open_zone(const char *name) {
    struct error err = {0};
    struct zone *zone = NULL;
    CHECK_OK(zone_open(name, &zone, &err), &err);
    return zone;
}

static void check_next(const char *text, const char *zone_name, const char *after,
                       const char *wanted) {
    struct error err = {0};
    struct cron cron = {0};
    char found[21] = "never";
    struct zone *zone = open_zone(zone_name);
    CHECK_OK(cron_parse(text, &cron, &err), &err);
    int64_t next_s = cron_next(&cron, zone, clock_parse(after) / 1000);
    if (next_s >= 0) {
        clock_format(1000 * next_s, found);
    }
    CHECK_STR(found, wanted);
    zone_free(zone);
}

static void test_next(void) {
    static const char *const rows[][4] = {
        {"* * * * *", "UTC", "2026-11-21T04:00:00Z", "2026-11-21T04:01:00Z"},
        {"* * * * *", "UTC", "2026-11-21T04:00:59Z", "2026-11-21T04:01:00Z"},
        {"0 3 * * *", "UTC", "2026-11-21T03:00:00Z", "2026-11-22T03:00:00Z"},
        {"0 3 * * *", "Europe/Berlin", "2026-11-21T00:00:00Z", "2026-11-21T02:00:00Z"},
        {"0 3 * * MON-FRI", "UTC", "2026-11-21T04:00:00Z", "2026-11-23T03:00:00Z"},
        {"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
        {"0 0 29 2 *", "UTC", "2097-01-01T00:00:00Z", "2104-02-29T00:00:00Z"},
        {"0 0 13 * FRI", "UTC", "2026-11-01T00:00:00Z", "2026-11-06T00:00:00Z"},   /* either */
        {"0 0 */13 * FRI", "UTC", "2026-11-01T00:00:00Z", "2026-11-27T00:00:00Z"}, /* both */
        {"0 0 * * 7", "UTC", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
        {"@weekly", "UTC", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"},
        {"@yearly", "Asia/Kolkata", "2026-11-21T00:00:00Z", "2026-12-31T18:30:00Z"},
        /* 02:00 becomes 03:00 on 2026-03-29 in Berlin, 03:00 becomes 02:00 on 2026-10-25. */
        {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
        {"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"},
        {"*/30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
        /* After the last change that the file lists. */
        {"0 12 * * *", "Europe/Berlin", "2090-07-01T00:00:00Z", "2090-07-01T10:00:00Z"},
        {"0 12 * * *", "Europe/Berlin", "2090-12-01T00:00:00Z", "2090-12-01T11:00:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_next(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
    }
}

static void test_last(void) {
    static const char *const rows[][4] = {
        {"0 3 * * *", "2026-11-01T03:00:00Z", "2026-11-21T04:00:00Z", "2026-11-21T03:00:00Z"},
        {"0 3 * * *", "2026-11-21T03:00:00Z", "2026-11-21T04:00:00Z", "never"},
        {"0 3 * * *", "2026-11-21T03:00:00Z", "2026-11-22T02:59:59Z", "never"},
        {"0 3 * * *", "2026-11-21T03:00:00Z", "2026-11-22T03:00:00Z", "2026-11-22T03:00:00Z"},
        {"* * * * *", "2016-11-21T03:00:00Z", "2026-11-22T03:00:30Z", "2026-11-22T03:00:00Z"},
        {"0 0 29 2 *", "2016-11-21T03:00:00Z", "2026-11-22T03:00:30Z", "2024-02-29T00:00:00Z"},
        {"0 3 * * *", "2030-11-21T03:00:00Z", "2026-11-22T03:00:00Z", "never"}, /* in the future */
    };
    struct zone *zone = open_zone("UTC");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cron cron = {0};
        char found[21] = "never";
        CHECK_OK(cron_parse(rows[i][0], &cron, &err), &err);
        int64_t last_s =
            cron_last(&cron, zone, clock_parse(rows[i][1]) / 1000, clock_parse(rows[i][2]) / 1000);
        if (last_s >= 0) {
            clock_format(1000 * last_s, found);
        }
        CHECK_STR(found, rows[i][3]);
    }
    zone_free(zone);
}

static void test_refused(void) {
    static const char *const rows[][2] = {
        {"61 * * * *", "minute \"61\": expected 0 to 59"},
        {"* 24 * * *", "hour \"24\""},
        {"* * 0 * *", "day of month \"0\""},
        {"* * * 13 *", "month \"13\""},
        {"* * * * 8", "weekday \"8\""},
        {"* * * FOO *", "month \"FOO\""},
        {"5-1 * * * *", "minute \"5-1\""},
        {"*/0 * * * *", "minute \"*/0\""},
        {"*/60 * * * *", "minute \"*/60\""},
        {"5/15 * * * *", "minute \"5/15\""},
        {"1, * * * *", "minute \"1,\""},
        {",1 * * * *", "minute \",1\""},
        {"1-2-3 * * * *", "minute \"1-2-3\""},
        {"* * * *", "4 fields, 5 are expected"},
        {"* * * * * *", "more than 5 fields"},
        {"", "0 fields, 5 are expected"},
        {"@reboot", "@hourly"},
        {"0 0 30 2 *", "the day does not exist"},
        {"0 0 31 4,6,9,11 *", "the day does not exist"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cron cron = {0};
        CHECK_INT(cron_parse(rows[i][0], &cron, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        if (!strstr(err.text, rows[i][1])) {
            CHECK_STR(err.text, rows[i][1]);
        }
    }
}

/* Python's zoneinfo and a walk minute by minute, near the days on which clocks change. */
static void test_oracle(void) {
    const char *rounds = getenv("SOAK_ROUNDS"), *given = getenv("SOAK_SEED");
    long seed = given ? strtol(given, NULL, 10) : (long)getpid(), count = 0, never = 0;
    AUTO(text_freep)
    char *command = x_printf("python3 tests/unit/lib/time/cron_oracle.py %ld %ld", seed,
                             rounds ? 100 * strtol(rounds, NULL, 10) : 400);
    printf("# SOAK_SEED=%ld\n", seed);
    FILE *oracle = popen(command, "r");
    char line[512], name[64], text[256];
    while (oracle && fgets(line, sizeof line, oracle)) {
        struct error err = {0};
        struct cron cron = {0};
        long long after_s = 0, wanted_s = 0;
        if (sscanf(line, "%63[^|]|%255[^|]|%lld|%lld", name, text, &after_s, &wanted_s) != 4) {
            continue;
        }
        count++;
        if (cron_parse(text, &cron, &err) < 0) {
            CHECK(wanted_s < 0 && strstr(err.text, "the day does not exist"));
            continue;
        }
        struct zone *zone = open_zone(name);
        int64_t next_s = cron_next(&cron, zone, after_s);
        bool is_right = wanted_s > 0 ? next_s == wanted_s : next_s < 0 || next_s > -wanted_s;
        if (!is_right) {
            printf("# %s: seen %lld\n", line, (long long)next_s);
            test_failures++;
        }
        never += wanted_s < 0;
        zone_free(zone);
    }
    CHECK(oracle && pclose(oracle) == 0);
    CHECK(count >= 400 && never < count / 2);
}

static void test_zones(void) {
    static const char *const bad[] = {
        "Europe/Nowhere", "../../etc/passwd", "/etc/passwd", "",
        "Europe//Berlin", "Europe",           "zone.tab",    "Europe/Berlin/"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};
        struct zone *zone = NULL;
        CHECK_INT(zone_open(bad[i], &zone, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
    struct zone *zone = open_zone("Europe/Berlin");
    struct zone_span span = zone_find_span(zone, clock_parse("2060-07-01T00:00:00Z") / 1000);
    CHECK_INT(span.offset_s, 7200);
    CHECK_INT(span.since_s, clock_parse("2060-03-28T01:00:00Z") / 1000);
    CHECK_INT(span.until_s, clock_parse("2060-10-31T01:00:00Z") / 1000);
    zone_free(zone);
}

static void test_calendar(void) {
    int64_t days = calendar_days(1, 1, 1);
    CHECK_INT(calendar_days(1970, 1, 1), 0);
    CHECK_INT(calendar_weekday(0), 4);
    CHECK_INT(calendar_weekday(-4), 0);
    for (int64_t year = 1; year < 2500; year++) {
        for (int month = 1; month <= 12; month++) {
            int last = calendar_month_days(year, month);
            struct calendar_date date = calendar_of(days + last - 1);
            CHECK_INT(calendar_days(year, month, 1), days);
            CHECK(date.year == year && date.month == month && date.day == last);
            days += last;
        }
    }
}

int main(void) {
    TEST(test_calendar);
    TEST(test_zones);
    TEST(test_next);
    TEST(test_last);
    TEST(test_refused);
    TEST(test_oracle);
    return TEST_END();
}
