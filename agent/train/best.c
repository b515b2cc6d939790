// SPDX-License-Identifier: Apache-2.0
#include "agent/train/best.h"

#include "agent/train/dataset/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [BEST_LOSS] = "loss",
    [BEST_TRAIN_ACCURACY] = "trainAccuracy",
    [BEST_TEST_LOSS] = "testLoss",
    [BEST_ACCURACY] = "accuracy",
};
static_assert(ARRAY_LEN(names) == BEST_METRIC_COUNT, "one name per metric");

static const char *const goals[] = {"Maximize", "Minimize", NULL};
static const double number_max = 1e300; /* as in agent/launch/gang/objective.c */

const char *best_metric_name(enum best_metric metric) {
    return names[metric];
}

int best_goal_read(const json_t *metrics, struct best_goal *ret_goal, struct error *err) {
    const char *wanted = json_string_value(json_object_get(metrics, "objective"));
    struct best_goal goal = {.metric = -1};
    int which = 0;
    for (int i = 0; wanted && i < BEST_METRIC_COUNT; i++) {
        goal.metric = strcmp(names[i], wanted) == 0 ? i : goal.metric;
    }
    if (goal.metric >= 0 && fields_choice(metrics, "goal", goals, &which, err) < 0) {
        return error_context(err, "metrics");
    }
    goal.is_minimized = which == 1;
    *ret_goal = goal;
    return 0;
}

static bool is_number(double value) {
    return isfinite(value) && fabs(value) <= number_max;
}

bool best_is_beaten(const struct best *best, const struct best_goal *goal, double value) {
    return goal->metric >= 0 && is_number(value) &&
           (best->epoch == 0 || (goal->is_minimized ? value < best->value : value > best->value));
}

void best_record_name(const struct best_goal *goal, char name[static BEST_NAME_MAX]) {
    assert(goal->metric >= 0);
    snprintf(name, BEST_NAME_MAX, "windlass:best, %s %s", goals[goal->is_minimized],
             names[goal->metric]);
}

bool best_is_plausible(const struct best *best, int64_t step, int64_t epoch_steps) {
    return best->step > 0 && best->step <= step && best->step % epoch_steps == 0 &&
           best->epoch == best->step / epoch_steps && is_number(best->value);
}
