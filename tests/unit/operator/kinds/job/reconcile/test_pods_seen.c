// SPDX-License-Identifier: Apache-2.0
/* When a pod that is leaving should be gone, while clocks are set and controllers change. */
#include "operator/kinds/job/reconcile/pods_seen.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/plan_phases.h"
#include "tests/test.h"

enum { HOUR_MS = 3600000, DAY_MS = 24 * HOUR_MS };

static const int64_t deleted_ms = INT64_C(1795500000) * 1000; /* in 2026, by the server's clock */

/* One pod that is being deleted; owned by the caller. */
static json_t *pods_with(int grace_s) {
    char gone[21];
    clock_format(deleted_ms + 1000 * (int64_t)grace_s, gone);
    return json_pack("[{s:{s:s, s:s, s:i}, s:{s:s}}]", "metadata", "name", "hub",
                     "deletionTimestamp", gone, "deletionGracePeriodSeconds", grace_s, "status",
                     "phase", "Running");
}

/* How long from now on until the pod should be gone. */
static int64_t left_ms(struct pods_seen *seen, const json_t *pods, int64_t wall_ms,
                       int64_t monotonic_ms) {
    pods_seen_note(seen, pods, wall_ms, monotonic_ms);
    const struct job_observed observed = {.leaving = seen->leaving};
    const struct job_plan plan = {.observed = &observed, .now_ms = wall_ms};
    return job_plan_read_pod(&plan, json_array_get(pods, 0)).gone_ms - wall_ms;
}

/* Our clock is set by an hour or a day while the pod ends: its time is the same. */
static void test_the_wall_clock_is_set(void) {
    static const int64_t steps_ms[] = {0, 1000, HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS};
    for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++) {
        AUTO(tree_freep) json_t *pods = pods_with(300);
        struct pods_seen seen = {0};
        CHECK_INT(left_ms(&seen, pods, deleted_ms, 5000), 300000);
        CHECK_INT(left_ms(&seen, pods, deleted_ms + 10000 + steps_ms[i], 15000), 290000);
        CHECK_INT(left_ms(&seen, pods, deleted_ms + 290000 + steps_ms[i], 295000), 10000);
        CHECK_INT(left_ms(&seen, pods, deleted_ms + 310000 + steps_ms[i], 315000), -10000);
        pods_seen_release(&seen);
    }
}

/* A controller sees the pod for the first time, long after its deletion. */
static void test_a_controller_takes_over(void) {
    static const struct {
        int grace_s;
        int64_t after_ms, left_ms;
    } rows[] = {
        {300, 0, 300000},
        {300, -HOUR_MS, 300000},            /* our clock is behind */
        {300, 599000, 300000},              /* ours may be ahead as well */
        {300, 800000, 100000},              /* 300 s + 600 s - 800 s */
        {300, HOUR_MS, PODS_SEEN_GRACE_MS}, /* over */
        {86400, HOUR_MS, DAY_MS},           /* two days at most, after the deletion */
        {86400, DAY_MS + HOUR_MS, DAY_MS - HOUR_MS},
        {86400, 3 * DAY_MS, PODS_SEEN_GRACE_MS},
        {30, 3 * DAY_MS, 30000}, /* a short one is always waited for */
        {0, 3 * DAY_MS, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *pods = pods_with(rows[i].grace_s);
        struct pods_seen seen = {0};
        CHECK_INT(left_ms(&seen, pods, deleted_ms + rows[i].after_ms, 5000), rows[i].left_ms);
        pods_seen_release(&seen);
    }
}

/* One hand-over an hour does not keep the pod for ever. */
static void test_many_take_over(void) {
    AUTO(tree_freep) json_t *pods = pods_with(86400);
    int hours = 0;
    for (int64_t left = 1; left > PODS_SEEN_GRACE_MS || hours == 0; hours++) {
        struct pods_seen seen = {0};
        left = left_ms(&seen, pods, deleted_ms + (int64_t)hours * HOUR_MS, 5000);
        pods_seen_release(&seen);
    }
    CHECK_INT(hours, 49);
}

/* Of pods that ended, and of none that are not there any more. */
static void test_what_is_kept(void) {
    AUTO(tree_freep) json_t *pods = pods_with(30);
    AUTO(tree_freep)
    json_t *ended =
        json_pack("[{s:{s:s}, s:{s:s}}]", "metadata", "name", "w", "status", "phase", "Failed");
    struct pods_seen seen = {0};
    pods_seen_note(&seen, pods, deleted_ms, 1000);
    CHECK(json_object_get(seen.leaving, "hub") && json_object_size(seen.ended) == 0);
    pods_seen_note(&seen, ended, deleted_ms + 1, 1001);
    pods_seen_note(&seen, ended, deleted_ms + 500, 1500);
    CHECK(json_object_size(seen.leaving) == 0 && json_object_size(seen.since) == 0);
    CHECK(json_object_size(seen.over) == 1);
    CHECK_INT(json_integer_value(json_object_get(seen.ended, "w")), deleted_ms + 1);
    pods_seen_release(&seen);
}

/* A pod has ended, and its next one waits: our clock is set meanwhile, and it waits its time. */
static void test_the_wall_clock_is_set_after_an_end(void) {
    static const int64_t steps_ms[] = {0, HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS};
    for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++) {
        AUTO(tree_freep)
        json_t *pods =
            json_pack("[{s:{s:s}, s:{s:s}}]", "metadata", "name", "w", "status", "phase", "Failed");
        struct pods_seen seen = {0};
        int64_t wall_ms = deleted_ms + 4000 + steps_ms[i];
        pods_seen_note(&seen, pods, deleted_ms, 1000);
        pods_seen_note(&seen, pods, wall_ms, 5000);
        CHECK_INT(wall_ms - json_integer_value(json_object_get(seen.ended, "w")), 4000);
        pods_seen_release(&seen);
    }
}

/* A living pod that was made at that time, and runs since then (0: it does not); owned by the
 * caller. */
static json_t *living(int64_t made_ms, int64_t running_ms) {
    char made[21], running[21];
    clock_format(made_ms, made);
    clock_format(running_ms, running);
    json_t *status = running_ms ? json_pack("{s:s, s:[{s:s, s:{s:{s:s}}}]}", "phase", "Running",
                                            "containerStatuses", "name", "agent", "state",
                                            "running", "startedAt", running)
                                : json_pack("{s:s}", "phase", "Pending");
    return json_pack("[{s:{s:s, s:s}, s:o}]", "metadata", "name", "w", "creationTimestamp", made,
                     "status", status);
}

/* Its phase in a pass at that time. */
static struct pod_phase read_at(struct pods_seen *seen, const json_t *pods, int64_t wall_ms,
                                int64_t monotonic_ms) {
    pods_seen_note(seen, pods, wall_ms, monotonic_ms);
    const struct job_observed observed = {.pods_set = seen->set};
    const struct job_plan plan = {.observed = &observed, .now_ms = wall_ms};
    return job_plan_read_pod(&plan, json_array_get(pods, 0));
}

/* A pod waits, then runs: each of its times is as long ago as it is, though our clock was set
 * before it started, and is set again. */
static void test_the_wall_clock_is_set_in_a_life(void) {
    static const int64_t steps_ms[] = {HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS};
    for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++) {
        int64_t step_ms = steps_ms[i], started_ms = deleted_ms + 6000 + step_ms;
        AUTO(tree_freep) json_t *waits = living(deleted_ms, 0);
        AUTO(tree_freep) json_t *runs = living(deleted_ms, started_ms);
        struct pods_seen seen = {0};
        int64_t wall_ms = deleted_ms + 1000;
        CHECK_INT(wall_ms - read_at(&seen, waits, wall_ms, 2000).born_ms, 1000);
        CHECK_INT(json_object_size(seen.set), 0);
        wall_ms = deleted_ms + 5000 + step_ms;
        CHECK_INT(wall_ms - read_at(&seen, waits, wall_ms, 6000).born_ms, 5000);
        wall_ms = deleted_ms + 7000 + step_ms;
        struct pod_phase phase = read_at(&seen, runs, wall_ms, 8000);
        CHECK_INT(wall_ms - phase.born_ms, 7000);
        CHECK_INT(wall_ms - phase.running_ms, 1000);
        CHECK_INT(phase.placed_ms, 0);
        wall_ms = deleted_ms + 9000;
        phase = read_at(&seen, runs, wall_ms, 10000);
        CHECK_INT(wall_ms - phase.born_ms, 9000);
        CHECK_INT(wall_ms - phase.running_ms, 3000);
        CHECK_INT(seen.alive_count, 1);
        pods_seen_release(&seen);
    }
}

int main(void) {
    TEST(test_the_wall_clock_is_set);
    TEST(test_a_controller_takes_over);
    TEST(test_many_take_over);
    TEST(test_what_is_kept);
    TEST(test_the_wall_clock_is_set_after_an_end);
    TEST(test_the_wall_clock_is_set_in_a_life);
    return TEST_END();
}
