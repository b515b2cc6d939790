// SPDX-License-Identifier: Apache-2.0
#include "agent/train/best.h"
#include "tests/test.h"

#include <math.h>

static int read(const char *metrics, struct best_goal *goal, struct error *err) {
    json_t *object = metrics ? json_loads(metrics, 0, NULL) : NULL;
    int result = best_goal_read(object, goal, err);
    json_decref(object);
    return result;
}

static void test_only_what_a_trainer_says_is_a_goal(void) {
    static const struct {
        const char *metrics;
        int metric;
        bool is_minimized;
    } rows[] = {
        {NULL, -1, false},
        {"{}", -1, false},
        {"{\"objective\": \"f1\", \"goal\": \"Sideways\"}", -1, false},
        {"{\"objective\": \"Loss\", \"goal\": \"Minimize\"}", -1, false},
        {"{\"objective\": \"loss\", \"goal\": \"Minimize\"}", BEST_LOSS, true},
        {"{\"objective\": \"trainAccuracy\", \"goal\": \"Maximize\"}", BEST_TRAIN_ACCURACY, false},
        {"{\"objective\": \"testLoss\", \"goal\": \"Minimize\"}", BEST_TEST_LOSS, true},
        {"{\"objective\": \"accuracy\", \"goal\": \"Maximize\"}", BEST_ACCURACY, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct best_goal goal = {0};
        struct error err = {0};
        CHECK_OK(read(rows[i].metrics, &goal, &err), &err);
        CHECK_INT(goal.metric, rows[i].metric);
        CHECK_INT(goal.is_minimized, rows[i].is_minimized);
    }
    struct best_goal goal;
    struct error err = {0};
    CHECK_INT(read("{\"objective\": \"loss\", \"goal\": \"Sideways\"}", &goal, &err), -1);
    CHECK(strstr(err.text, "metrics: goal: one of Maximize, Minimize is expected"));
}

/* The best epoch of these, 0: none. */
static int64_t choose(const struct best_goal *goal, const double *values, size_t count) {
    struct best best = {0};
    for (size_t i = 0; i < count; i++) {
        if (best_is_beaten(&best, goal, values[i])) {
            best = (struct best){values[i], (int64_t)i + 1, 0};
        }
    }
    return best.epoch;
}

static void test_the_first_of_the_best_is_it(void) {
    static const struct {
        double values[4];
        int64_t most, least;
    } rows[] = {
        {{0.86, 0.88, 0.71, 0.71}, 2, 3},
        {{0.5, 0.5, 0.5, 0.5}, 1, 1},
        {{NAN, 0.5, NAN, 0.4}, 2, 4},
        {{NAN, NAN, NAN, NAN}, 0, 0},
        {{INFINITY, -INFINITY, 3, -3}, 3, 4},
        {{2e300, -2e300, 1e300, -1e300}, 3, 4}, /* beyond 1e300: not counted */
        {{-1, 0, -2, 0}, 2, 3},
    };
    struct best_goal most = {.metric = BEST_ACCURACY};
    struct best_goal least = {.metric = BEST_LOSS, .is_minimized = true}, none = {.metric = -1};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(choose(&most, rows[i].values, 4), rows[i].most);
        CHECK_INT(choose(&least, rows[i].values, 4), rows[i].least);
        CHECK_INT(choose(&none, rows[i].values, 4), 0);
    }
}

static void test_a_record_is_of_one_metric_and_goal(void) {
    char names[2 * BEST_METRIC_COUNT][BEST_NAME_MAX];
    for (int i = 0; i < 2 * BEST_METRIC_COUNT; i++) {
        struct best_goal goal = {.metric = i / 2, .is_minimized = i % 2};
        best_record_name(&goal, names[i]);
        for (int k = 0; k < i; k++) {
            CHECK(strcmp(names[i], names[k]) != 0);
        }
    }
    CHECK_STR(names[2 * BEST_ACCURACY], "windlass:best, Maximize accuracy");
}

/* Five steps an epoch, 12 are done. */
static void test_what_is_no_record_of_this_training_is_seen(void) {
    static const struct {
        struct best best;
        bool is_sound;
    } rows[] = {
        {{0.5, 1, 5}, true},   {{-3, 2, 10}, true},    {{0.5, 0, 0}, false},
        {{0.5, 3, 15}, false}, {{0.5, 2, 5}, false},   {{0.5, 1, 6}, false},
        {{NAN, 1, 5}, false},  {{0.5, -1, -5}, false}, {{INFINITY, 2, 10}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(best_is_plausible(&rows[i].best, 12, 5), rows[i].is_sound);
    }
}

int main(void) {
    TEST(test_only_what_a_trainer_says_is_a_goal);
    TEST(test_the_first_of_the_best_is_it);
    TEST(test_a_record_is_of_one_metric_and_goal);
    TEST(test_what_is_no_record_of_this_training_is_seen);
    return TEST_END();
}
