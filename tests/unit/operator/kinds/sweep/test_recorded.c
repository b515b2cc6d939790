// SPDX-License-Identifier: Apache-2.0
/* The savings of median stopping, by the rule alone: over the curves of the twelve trials of
 * examples/sweep/sweep.yaml without it (tests/data/sweeps/fashion.curves, a line a trial; a number
 * an epoch). The sweep itself, with and without: tests/bench/sweep_median.sh. */
#include "lib/file.h"
#include "operator/kinds/sweep/stopping/stopping.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { TRIALS_MAX = 32, EPOCHS_MAX = 32, FILE_MAX = 65536, ORDERS = 400, MANIFEST_AT_ONCE = 4 };

struct recorded {
    double said[EPOCHS_MAX];
    int count;
};

static size_t read_recorded(struct recorded trials[static TRIALS_MAX]) {
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    size_t size, count = 0;
    CHECK_OK(file_read("tests/data/sweeps/fashion.curves", FILE_MAX, &text, &size, &err), &err);
    for (char *rest = text, *line; rest && (line = strsep(&rest, "\n")) && count < TRIALS_MAX;) {
        if (*line == '#' || *line == '\0') {
            continue;
        }
        struct recorded *trial = &trials[count++];
        char *end;
        for (double value; trial->count < EPOCHS_MAX && (value = strtod(line, &end), end != line);
             line = end) {
            trial->said[trial->count++] = value;
        }
    }
    return count;
}

/* One more report: a point, as evaluationInterval is 1. */
static void say(struct curve *curve, const struct recorded *trial) {
    int64_t reports = curve_reached(curve) + 1;
    double best = -INFINITY, sum = 0;
    for (int64_t k = 0; k < reports; k++) {
        best = fmax(best, trial->said[k]);
        sum += trial->said[k];
    }
    curve_add(curve, &(struct curve_point){reports, best, sum / (double)reports, -1});
}

struct outcome {
    int epochs, stopped;
    double best; /* of the trials that were not stopped */
};

/* Of one trial among all. */
static bool stops_one(const struct rule *rule, enum goal goal, const struct rule_trial *trials,
                      size_t count, size_t which, char why[static RULE_WHY_MAX]) {
    struct stopping_judge judge;
    stopping_judge_init(&judge, rule, goal, trials, count);
    bool stops = stopping_is_due(&judge, which, why);
    stopping_judge_release(&judge);
    return stops;
}

/* A number of trials at once, all equally fast, in the order of their indices. A stopped trial has
 * done another epoch before it gets the stop. */
static struct outcome sweep(enum rule_kind kind, const struct recorded *recorded, size_t count,
                            size_t at_once) {
    const struct rule rule = {.kind = kind};
    struct curve curves[TRIALS_MAX] = {0};
    struct rule_trial trials[TRIALS_MAX];
    struct outcome outcome = {.best = -INFINITY};
    size_t next = 0, running = 0;
    do {
        for (; next < count && running < at_once; next++, running++) {
            trials[next] = (struct rule_trial){&curves[next], true, (int64_t)next};
        }
        for (size_t i = 0; i < next; i++) {
            if (trials[i].is_running && recorded[i].count > 0) {
                say(&curves[i], &recorded[i]);
                outcome.epochs++;
            }
        }
        for (size_t i = 0; i < next; i++) {
            char why[RULE_WHY_MAX];
            if (!trials[i].is_running) {
                continue;
            }
            if (curve_reached(&curves[i]) == recorded[i].count) {
                double best =
                    recorded[i].count ? curves[i].at[curves[i].count - 1].best : -INFINITY;
                outcome.best = fmax(outcome.best, best);
            } else if (stops_one(&rule, GOAL_MAXIMIZE, trials, next, i, why)) {
                outcome.epochs++;
                outcome.stopped++;
            } else {
                continue;
            }
            trials[i].is_running = false;
            running--;
        }
    } while (running > 0 || next < count);
    for (size_t i = 0; i < count; i++) {
        curve_release(&curves[i]);
    }
    return outcome;
}

/* The manifest has four at once; with fewer the first wave, of which no trial can be judged before
 * three others have reported, runs in full. */
static void test_median_saves_a_quarter_at_equal_best(void) {
    struct recorded recorded[TRIALS_MAX] = {0};
    size_t count = read_recorded(recorded);
    CHECK_INT(count, 12);
    struct outcome whole = sweep(RULE_NONE, recorded, count, MANIFEST_AT_ONCE);
    CHECK(whole.stopped == 0 && whole.best > 0.9);
    for (size_t at_once = 1; at_once <= count; at_once++) {
        struct outcome median = sweep(RULE_MEDIAN, recorded, count, at_once);
        double saved = 1 - (double)median.epochs / whole.epochs;
        printf("# %zu at once: %d of %d epochs, %.1f %% saved, %d stopped, best %.4f of %.4f\n",
               at_once, median.epochs, whole.epochs, 100 * saved, median.stopped, median.best,
               whole.best);
        CHECK(saved > 0 && median.stopped > 0);
        CHECK(at_once < MANIFEST_AT_ONCE || saved >= 0.25);
        CHECK(at_once != MANIFEST_AT_ONCE || median.stopped == 6); /* about half, and no more */
        CHECK(median.best == whole.best);
    }
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Another seed would give other points in another order; at least the order can be varied here. */
static void test_in_any_order(void) {
    struct recorded recorded[TRIALS_MAX] = {0};
    size_t count = read_recorded(recorded);
    struct outcome whole = sweep(RULE_NONE, recorded, count, MANIFEST_AT_ONCE);
    uint64_t seed = test_seed(7);
    double saved[ORDERS];
    for (int order = 0; order < ORDERS; order++) {
        for (size_t left = count; left > 1; left--) {
            size_t other = test_below(&seed, left);
            struct recorded last = recorded[left - 1];
            recorded[left - 1] = recorded[other];
            recorded[other] = last;
        }
        struct outcome median = sweep(RULE_MEDIAN, recorded, count, MANIFEST_AT_ONCE);
        CHECK(median.best == whole.best);
        saved[order] = 1 - (double)median.epochs / whole.epochs;
    }
    qsort(saved, ORDERS, sizeof *saved, by_value);
    printf("# in %d orders %.1f to %.1f %% saved, %.1f in the middle, a tenth less than %.1f\n",
           ORDERS, 100 * saved[0], 100 * saved[ORDERS - 1], 100 * saved[ORDERS / 2],
           100 * saved[ORDERS / 10]);
    CHECK(saved[ORDERS / 2] >= 0.25);
}

int main(void) {
    TEST(test_median_saves_a_quarter_at_equal_best);
    TEST(test_in_any_order);
    return TEST_END();
}
