// SPDX-License-Identifier: Apache-2.0
/* What failed waits for longer each time, up to a minute, and then for its turn. */
#include "operator/kinds/job/reconcile/retry_delay.h"

#include "lib/time/clock.h"
#include "operator/control/retry_pace.h"
#include "tests/test.h"

static int64_t left_ms(const struct retry_delay *delay) {
    return delay->not_before_ms - clock_monotonic_ms();
}

static void test_it_doubles_up_to_a_minute(void) {
    static const int64_t even_ms[] = {1000,  2000,  4000,  8000,  16000,
                                      32000, 60000, 60000, 60000, 60000};
    struct retry_delay delay = {0};
    for (size_t i = 0; i < ARRAY_LEN(even_ms); i++) {
        int64_t before_ms = clock_monotonic_ms();
        retry_delay_note(&delay);
        CHECK(delay.not_before_ms - before_ms >= even_ms[i] * 3 / 4);
        CHECK(left_ms(&delay) <= even_ms[i] * 5 / 4);
        CHECK_INT(delay.failures, i + 1);
    }
    int64_t before_ms = clock_monotonic_ms();
    retry_delay_rest(&delay, 600000);
    CHECK(delay.not_before_ms - before_ms >= 450000 && left_ms(&delay) <= 750000);
    CHECK_INT(delay.failures, ARRAY_LEN(even_ms) + 1);
}

/* Not all that failed together may be tried together. */
static void test_chance(void) {
    int64_t least_ms = INT64_MAX, most_ms = 0;
    for (int i = 0; i < 100; i++) {
        struct retry_delay delay = {0};
        retry_delay_note(&delay);
        least_ms = MIN(least_ms, delay.not_before_ms);
        most_ms = MAX(most_ms, delay.not_before_ms);
    }
    CHECK(most_ms - least_ms > 100);
}

/* Whether it may be tried in a pass at that time. */
static bool may_try(struct retry_pace *pace, const struct retry_delay *delay, int64_t now_ms) {
    struct reconcile request = {.kind = "BatchScore",
                                .namespace = "default",
                                .name = "a",
                                .monotonic_ms = now_ms,
                                .pace = pace};
    (void)retry_pace_take(pace, now_ms);
    bool may = retry_delay_is_over(&request, delay);
    CHECK(may || delay->failures > 0);
    return may;
}

static void test_then_it_is_its_turn(void) {
    struct retry_pace *pace = retry_pace_new();
    struct retry_delay delay = {0};
    int64_t now_ms = clock_monotonic_ms();
    CHECK(may_try(pace, &delay, now_ms));
    CHECK(may_try(pace, &delay, now_ms)); /* as often as one likes */
    retry_delay_note(&delay);
    CHECK(!may_try(pace, &delay, now_ms));
    CHECK(!may_try(pace, &delay, delay.not_before_ms - 1));
    CHECK(may_try(pace, &delay, delay.not_before_ms + 5000));
    delay = (struct retry_delay){0};
    CHECK(may_try(pace, &delay, now_ms));
    retry_pace_free(pace);
}

int main(void) {
    TEST(test_it_doubles_up_to_a_minute);
    TEST(test_chance);
    TEST(test_then_it_is_its_turn);
    return TEST_END();
}
