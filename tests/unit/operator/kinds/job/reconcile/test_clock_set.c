// SPDX-License-Identifier: Apache-2.0
/* The time that a job has left does not change when the wall clock is set. */
#include "operator/kinds/job/reconcile/clock_set.h"

#include "lib/time/clock.h"
#include "tests/test.h"

enum { HOUR_MS = 3600000 };

static const int64_t start_ms = INT64_C(1795500000) * 1000; /* in 2026 */

static void test_steps(void) {
    char job[21];
    clock_format(start_ms, job);
    struct clock_set set = {0};
    CHECK_INT(clock_set_ms(&set, job, start_ms + 500, 1500), 0);
    CHECK_INT(clock_set_ms(&set, job, start_ms + HOUR_MS + 1000, 2000), HOUR_MS);
    CHECK_INT(clock_set_ms(&set, job, start_ms - HOUR_MS + 2000, 3000), -HOUR_MS);
    CHECK_INT(clock_set_ms(&set, job, start_ms + 3000, 4000), 0);
}

/* The pass before has written the start: a step since then counts, an earlier one does not; nor one
 * before a job was resumed with another start. */
static void test_begins_with_the_start(void) {
    char job[21];
    clock_format(start_ms, job);
    char resumed[21];
    clock_format(start_ms + HOUR_MS, resumed);
    struct clock_set set = {0};
    CHECK_INT(clock_set_ms(&set, NULL, start_ms - HOUR_MS, 1000), 0);
    CHECK_INT(clock_set_ms(&set, NULL, start_ms, 1000), 0);
    CHECK_INT(clock_set_ms(&set, job, start_ms + HOUR_MS, 1000), HOUR_MS);
    CHECK_INT(clock_set_ms(&set, job, start_ms + HOUR_MS, 1000), HOUR_MS);
    CHECK_INT(clock_set_ms(&set, resumed, start_ms + HOUR_MS, 1000), 0);
}

/* A controller that begins to look at a job in mid-life has its clock as it is then. */
static void test_a_controller_takes_over(void) {
    char job[21];
    clock_format(start_ms, job);
    struct clock_set set = {0};
    CHECK_INT(clock_set_ms(&set, job, start_ms + 7 * HOUR_MS, 10), 0);
    CHECK_INT(clock_set_ms(&set, job, start_ms + 7 * HOUR_MS + 90, 100), 0);
}

int main(void) {
    TEST(test_steps);
    TEST(test_begins_with_the_start);
    TEST(test_a_controller_takes_over);
    return TEST_END();
}
