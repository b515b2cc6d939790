// SPDX-License-Identifier: Apache-2.0
/* Each rule by tables, in both goals and below zero; and which table a trial is judged by. */
#include "operator/kinds/sweep/stopping/stopping.h"
#include "operator/kinds/sweep/stopping/stopping_asha.h"
#include "operator/kinds/sweep/stopping/stopping_bandit.h"
#include "operator/kinds/sweep/stopping/stopping_median.h"
#include "operator/kinds/sweep/stopping/stopping_truncation.h"
#include "tests/test.h"

#include <math.h>

enum { TRIALS_MAX = 8 };

/* Of one trial among all. */
static bool stops_one(const struct rule *rule, enum goal goal, const struct rule_trial *trials,
                      size_t count, size_t which, char why[static RULE_WHY_MAX]) {
    struct stopping_judge judge;
    stopping_judge_init(&judge, rule, goal, trials, count);
    bool stops = stopping_is_due(&judge, which, why);
    stopping_judge_release(&judge);
    return stops;
}

static void test_curves_are_read(void) {
    struct curve curve = curve_read("5:500:0.25:0.125 6::1e-3:-2 7:700:nan: 9:9:inf:3");
    CHECK_INT(curve.count, 4);
    CHECK(curve.at[0].reports == 5 && curve.at[0].best == 0.25 && curve.at[0].mean == 0.125);
    CHECK(curve.at[1].best == 1e-3 && curve.at[1].mean == -2);
    CHECK(isnan(curve.at[2].best) && isnan(curve.at[2].mean));
    CHECK(isnan(curve.at[3].best) && curve.at[3].mean == 3);
    CHECK_INT(curve_reached(&curve), 9);
    CHECK(curve_find(&curve, 6) == &curve.at[1] && curve_find(&curve, 9) == &curve.at[3]);
    CHECK(!curve_find(&curve, 8) && !curve_find(&curve, 4) && !curve_find(&curve, 10));
    curve_release(&curve);
    static const struct {
        const char *text;
        int count;
    } broken[] = {
        {"", 0},           {" ", 0},           {"5", 0},
        {"5:1:2", 0},      {"5:1:2:3:4", 0},   {"0:1:2:3", 0},
        {"x:1:2:3", 0},    {"5:1:2:3 ", 1},    {"5:1:2:3 5:1:2:3", 1},
        {"5:1:2:3  6", 1}, {"5:1:2:3 6:1", 1}, {"1e99:1:2:3", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct curve some = curve_read(broken[i].text);
        CHECK_INT(some.count, broken[i].count);
        curve_release(&some);
        CHECK(!some.at && curve_reached(&some) == 0 && !curve_find(&some, 5));
    }
}

static void test_a_curve_has_a_bound(void) {
    char text[4096] = "";
    size_t used = 0;
    for (int k = 1; k <= CURVE_POINTS_MAX + 10; k++) {
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%d:1:2:3", k > 1 ? " " : "", k);
    }
    struct curve curve = curve_read(text);
    CHECK_INT(curve.count, CURVE_POINTS_MAX);
    curve_release(&curve);
}

/* The bounds, by tables: bests of the others, unchanged (not scores). */
static void test_bandit_bounds(void) {
    static const struct {
        enum goal goal;
        double factor, amount, others[3], bound;
    } rows[] = {
        {GOAL_MAXIMIZE, 0.2, 0, {0.8, 0.5, 0.1}, 0.8 / 1.2}, /* the manual's own example */
        {GOAL_MAXIMIZE, 0.15, 0, {0.1, 0.3, 0.46}, 0.4},
        {GOAL_MAXIMIZE, 0, 0.1, {0.2, 0.8, 0.5}, 0.7},
        {GOAL_MAXIMIZE, 0.25, 0, {-10, -20, -30}, -12},
        {GOAL_MAXIMIZE, 0, 3, {-10, -20, -30}, -13},
        {GOAL_MAXIMIZE, 0.5, 0, {0, -1, -2}, 0},
        {GOAL_MINIMIZE, 0.2, 0, {0.5, 0.8, 2}, 0.6},
        {GOAL_MINIMIZE, 0, 0.1, {0.5, 0.8, 2}, 0.6},
        {GOAL_MINIMIZE, 0.2, 0, {-10, -5, 3}, -8},
        {GOAL_MINIMIZE, 0, 4, {-10, -5, 3}, -6},
        {GOAL_MINIMIZE, 0.2, 0, {NAN, 0.5, NAN}, 0.6},
        {GOAL_MINIMIZE, 0.2, 0, {NAN, NAN, NAN}, INFINITY},
        {GOAL_MAXIMIZE, 0.2, 0, {NAN, NAN, NAN}, -INFINITY},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule rule = {
            .kind = RULE_BANDIT, .slack_factor = rows[i].factor, .slack_amount = rows[i].amount};
        /* Whatever the trial's own best is: beside the others, one of them, or none. */
        const double owns[] = {-1e9, -0.3, 1e9, rows[i].others[0], rows[i].others[1], NAN};
        for (size_t own = 0; own < ARRAY_LEN(owns); own++) {
            struct rule_row all[4];
            for (int k = 0; k < 4; k++) {
                all[k].best = sweep_score(rows[i].goal, k < 3 ? rows[i].others[k] : owns[own]);
                all[k].mean = 1e9; /* not used */
            }
            struct rule_row itself = all[3];
            stopping_rows_sort_by_best(all, 4);
            double bound = stopping_bandit_bound(&rule, rows[i].goal, all, 4, itself);
            bound = rows[i].goal == GOAL_MAXIMIZE ? bound : -bound;
            if (!(bound == rows[i].bound || fabs(bound - rows[i].bound) < 1e-12)) {
                printf("# row %zu: %g, wanted %g\n", i, bound, rows[i].bound);
                test_failures++;
            }
        }
    }
}

static void test_median_bounds(void) {
    static const struct {
        enum goal goal;
        size_t count;
        double means[5], bound;
    } rows[] = {
        {GOAL_MAXIMIZE, 3, {0.9, 0.1, 0.5}, 0.5},
        {GOAL_MAXIMIZE, 4, {0.9, 0.1, 0.5, 0.7}, 0.6},
        {GOAL_MAXIMIZE, 5, {5, 1, 4, 2, 3}, 3},
        {GOAL_MAXIMIZE, 3, {-1, -3, -2}, -2},
        {GOAL_MINIMIZE, 3, {0.9, 0.1, 0.5}, 0.5},
        {GOAL_MINIMIZE, 4, {-1, -2, -3, -4}, -2.5},
        {GOAL_MAXIMIZE, 3, {NAN, 0.1, 0.5}, 0.1},
        {GOAL_MINIMIZE, 3, {NAN, 0.1, 0.5}, 0.5},
        {GOAL_MAXIMIZE, 4, {NAN, NAN, 0.5, 0.7}, -INFINITY},
        {GOAL_MAXIMIZE, 3, {NAN, NAN, 0.5}, -INFINITY},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const double owns[] = {-1e9, 0.55, 1e9, rows[i].means[0], rows[i].means[2], NAN};
        for (size_t own = 0; own < ARRAY_LEN(owns); own++) {
            struct rule_row all[6];
            size_t count = rows[i].count;
            for (size_t k = 0; k <= count; k++) {
                double mean = k < count ? rows[i].means[k] : owns[own];
                all[k] = (struct rule_row){1e9, sweep_score(rows[i].goal, mean)};
            }
            struct rule_row itself = all[count];
            stopping_rows_sort_by_mean(all, count + 1);
            double bound = stopping_median_bound(all, count + 1, itself);
            bound = rows[i].goal == GOAL_MAXIMIZE ? bound : -bound;
            if (!(bound == rows[i].bound || fabs(bound - rows[i].bound) < 1e-12)) {
                printf("# row %zu: %g, wanted %g\n", i, bound, rows[i].bound);
                test_failures++;
            }
        }
    }
}

static void test_truncation_ranks(void) {
    static const struct {
        enum goal goal;
        int percentage;
        size_t count;
        double others[4], own;
        bool stops;
    } rows[] = {
        {GOAL_MAXIMIZE, 20, 4, {0.5, 0.6, 0.7, 0.8}, 0.4, true}, /* 1 of 5 */
        {GOAL_MAXIMIZE, 20, 4, {0.5, 0.6, 0.7, 0.8}, 0.55, false},
        {GOAL_MAXIMIZE, 19, 4, {0.5, 0.6, 0.7, 0.8}, 0.4, false}, /* 0.95 of them is less than one
                                                                   */
        {GOAL_MAXIMIZE, 40, 4, {0.5, 0.6, 0.7, 0.8}, 0.55, true},
        {GOAL_MAXIMIZE, 40, 4, {0.5, 0.6, 0.7, 0.8}, 0.65, false},
        {GOAL_MAXIMIZE, 20, 4, {0.5, 0.6, 0.7, 0.8}, 0.5, false}, /* two are last: none is */
        {GOAL_MAXIMIZE, 40, 4, {0.5, 0.6, 0.7, 0.8}, 0.5, true},
        {GOAL_MAXIMIZE, 99, 4, {0.5, 0.5, 0.5, 0.5}, 0.5, false},
        {GOAL_MINIMIZE, 20, 4, {0.5, 0.6, 0.7, 0.8}, 0.9, true},
        {GOAL_MINIMIZE, 20, 4, {0.5, 0.6, 0.7, 0.8}, 0.4, false},
        {GOAL_MINIMIZE, 25, 3, {-3, -2, -1}, -0.5, true},
        {GOAL_MINIMIZE, 25, 3, {-3, -2, -1}, -1.5, false},
        {GOAL_MAXIMIZE, 25, 3, {-3, -2, -1}, -4, true},
        {GOAL_MAXIMIZE, 25, 3, {0.1, 0.2, 0.3}, NAN, true},
        {GOAL_MINIMIZE, 25, 3, {0.1, 0.2, 0.3}, NAN, true},
        {GOAL_MINIMIZE, 25, 3, {0.1, NAN, 0.3}, 5, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rule rule = {.kind = RULE_TRUNCATION, .percentage = rows[i].percentage};
        struct rule_row all[5];
        for (size_t k = 0; k < rows[i].count; k++) {
            all[k] = (struct rule_row){sweep_score(rows[i].goal, rows[i].others[k]), 1e9};
        }
        struct rule_row own = {sweep_score(rows[i].goal, rows[i].own), 1e9};
        all[rows[i].count] = own;
        stopping_rows_sort_by_best(all, rows[i].count + 1);
        if (stopping_truncation_stops(&rule, all, rows[i].count + 1, own) != rows[i].stops) {
            printf("# row %zu\n", i);
            test_failures++;
        }
    }
}

/* ---- which table ---- */

static const struct rule bandit = {.kind = RULE_BANDIT,
                                   .slack_factor = 0.2,
                                   .slack_amount = 0,
                                   .percentage = 0,
                                   .excludes_finished = false};
static const struct rule median = {.kind = RULE_MEDIAN,
                                   .slack_factor = 0,
                                   .slack_amount = 0,
                                   .percentage = 0,
                                   .excludes_finished = false};
static const struct rule truncation = {.kind = RULE_TRUNCATION,
                                       .slack_factor = 0,
                                       .slack_amount = 0,
                                       .percentage = 25,
                                       .excludes_finished = false};
static const struct rule of_running = {.kind = RULE_TRUNCATION,
                                       .slack_factor = 0,
                                       .slack_amount = 0,
                                       .percentage = 25,
                                       .excludes_finished = true};
static const struct rule none = {.kind = RULE_NONE,
                                 .slack_factor = 0,
                                 .slack_amount = 0,
                                 .percentage = 0,
                                 .excludes_finished = false};

static void test_who_is_judged_by_what(void) {
    /* Trials parted by ";", the judged one first; ended ones begin with "-". */
    static const struct {
        const struct rule *rule;
        enum goal goal;
        const char *trials, *why; /* NULL: continues */
    } rows[] = {
        /* The first wave: both run, the worse one is stopped at the last k that both have seen. */
        {&bandit, GOAL_MAXIMIZE, "1:1:0.5:0.5 2:2:0.5:0.5;1:1:0.4:0.4 2:2:0.9:0.6 3:3:1:0.7",
         "Bandit: after 2 reports its best 0.5 is worse than 0.75, the slack behind the best of 1 "
         "other"},
        {&bandit, GOAL_MINIMIZE, "1:1:0.5:0.5 2:2:0.5:0.5;1:1:0.4:0.4 2:2:0.9:0.6 3:3:1:0.7", NULL},
        /* Ahead of all others: judged at their own step. */
        {&bandit, GOAL_MAXIMIZE, "1:1:0.1:0.1 2:2:0.1:0.1 3:3:0.9:0.2;1:1:0.9:0.9",
         "Bandit: after 1 report its best 0.1 is worse than 0.75, the slack behind the best of 1 "
         "other"},
        {&bandit, GOAL_MAXIMIZE, "1:1:0.1:0.1", NULL},
        {&bandit, GOAL_MAXIMIZE, "1:1:0.1:0.1;", NULL},
        {&bandit, GOAL_MAXIMIZE, ";1:1:0.9:0.9", NULL},
        {&bandit, GOAL_MAXIMIZE, "-1:1:0.1:0.1;1:1:0.9:0.9", NULL},
        {&none, GOAL_MAXIMIZE, "1:1:0.1:0.1;1:1:0.9:0.9", NULL},
        {&bandit, GOAL_MAXIMIZE, "1:1:0.9:0.9;1:1:0.9:0.9;1:1:0.2:0.2", NULL},
        {&bandit, GOAL_MAXIMIZE, "1:1::;1:1:-5:-5",
         "Bandit: after 1 report its best nan is worse than -5.83333, the slack behind the best of "
         "1 other"},
        {&bandit, GOAL_MAXIMIZE, "1:1::;1:1::", NULL},
        /* Three others are needed: they exist at 1, not at 2. */
        {&median, GOAL_MAXIMIZE, "1:1:4:4 2:2:4:4;1:1:3:3 2:2:9:9;-1:1:5:5 2:2:9:9;1:1:2:2", NULL},
        {&median, GOAL_MAXIMIZE, "1:1:4:4 2:2:4:4;1:1:3:3;-1:1:6:6 2:2:9:9;1:1:5:5",
         "Median: after 1 report its best 4 is worse than 5, the median of 3 others"},
        {&median, GOAL_MINIMIZE, "1:1:4:4 2:2:4:4;1:1:3:3 2:2:3:3;-1:1:6:6 2:2:3:3;1:1:5:5 2:2:3:3",
         "Median: after 2 reports its best 4 is worse than 3, the median of 3 others"},
        {&median, GOAL_MAXIMIZE, "1:1:4:4;1:1:5:5;1:1:5:5", NULL},
        {&median, GOAL_MAXIMIZE, "1:1:5:5;1:1:5:5;1:1:5:5;1:1:5:5", NULL},
        /* Its own best counts against the means of the others. */
        {&median, GOAL_MAXIMIZE, "5:5:3:1;5:5:9:2;5:5:9:2;5:5:9:2", NULL},
        {&truncation, GOAL_MAXIMIZE, "8:8:1:1;8:8:2:2;-8:8:3:3;-8:8:4:4",
         "Truncation: after 8 reports its best 1 is among the worst 25 % of 4"},
        {&truncation, GOAL_MAXIMIZE, "8:8:2:2;8:8:3:3;-8:8:1:1;-8:8:4:4", NULL},
        {&of_running, GOAL_MAXIMIZE, "8:8:1:1;8:8:2:2;-8:8:3:3;-8:8:4:4", NULL},
        {&of_running, GOAL_MAXIMIZE, "8:8:2:2;8:8:3:3;8:8:3:3;8:8:4:4;-8:8:1:1",
         "Truncation: after 8 reports its best 2 is among the worst 25 % of 4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct curve curves[TRIALS_MAX];
        struct rule_trial trials[TRIALS_MAX];
        size_t count = 0;
        AUTO(text_freep) char *text = x_strdup(rows[i].trials);
        for (char *rest = text, *one; (one = strsep(&rest, ";")) && count < TRIALS_MAX; count++) {
            curves[count] = curve_read(one + (*one == '-'));
            trials[count] = (struct rule_trial){&curves[count], *one != '-', (int64_t)count};
        }
        char why[RULE_WHY_MAX] = "?";
        bool stops = stops_one(rows[i].rule, rows[i].goal, trials, count, 0, why);
        if (stops != (rows[i].why != NULL) || (stops && strcmp(why, rows[i].why) != 0)) {
            printf("# row %zu: %s %s\n", i, stops ? "stopped" : "goes on", why);
            test_failures++;
        }
        for (size_t k = 0; k < count; k++) {
            curve_release(&curves[k]);
        }
    }
}

/* With the opposite goal and all values negated nothing changes, except Bandit's factor, whose two
 * forms are the manual's for one goal and ours for the other. */
static void test_goals_mirror_each_other(void) {
    static const struct rule amount = {.kind = RULE_BANDIT,
                                       .slack_factor = 0,
                                       .slack_amount = 0.3,
                                       .percentage = 0,
                                       .excludes_finished = false};
    const struct rule *rules[] = {&amount, &median, &truncation};
    int stopped = 0;
    for (int round = 0; round < 600; round++) {
        struct curve_point points[2][TRIALS_MAX];
        struct curve curves[2][TRIALS_MAX];
        struct rule_trial trials[2][TRIALS_MAX];
        for (int i = 0; i < TRIALS_MAX; i++) {
            double value = (round * 7919 + i * 104729) % 1000 / 500.0 - 1;
            points[0][i] = (struct curve_point){4, value, value / 2, -1};
            points[1][i] = (struct curve_point){4, -value, -value / 2, -1};
            for (int side = 0; side < 2; side++) {
                curves[side][i] = (struct curve){1, &points[side][i]};
                trials[side][i] = (struct rule_trial){&curves[side][i], true, (int64_t)i};
            }
        }
        char why[RULE_WHY_MAX];
        const struct rule *rule = rules[round % 3];
        bool up = stops_one(rule, GOAL_MAXIMIZE, trials[0], TRIALS_MAX, 0, why);
        CHECK(up == stops_one(rule, GOAL_MINIMIZE, trials[1], TRIALS_MAX, 0, why));
        stopped += up;
    }
    CHECK(stopped > 60 && stopped < 540);
}

/* ---- successive halving ---- */

static void test_rungs_and_brackets(void) {
    static const struct rule hyperband = {
        .kind = RULE_ASHA, .min_reports = 1, .max_reports = 81, .factor = 3, .brackets = 5};
    static const int trials[] = {81, 34, 15, 8, 5}; /* Hyperband's table for R = 81 */
    int counts[5] = {0};
    CHECK_INT(stopping_asha_brackets(&hyperband), 5);
    CHECK_INT(stopping_asha_rung(&hyperband, 0, 0), 0);
    CHECK_INT(stopping_asha_rung(&hyperband, 0, 2), 1);
    CHECK_INT(stopping_asha_rung(&hyperband, 0, 80), 27);
    CHECK_INT(stopping_asha_rung(&hyperband, 0, 1000), 27);
    CHECK_INT(stopping_asha_rung(&hyperband, 2, 8), 0);
    CHECK_INT(stopping_asha_rung(&hyperband, 2, 9), 9);
    CHECK_INT(stopping_asha_rung(&hyperband, 4, 1000), 0); /* whole trials */
    for (int64_t i = 0; i < 14300; i++) {
        counts[stopping_asha_bracket(&hyperband, i)]++;
    }
    for (int i = 0; i < 5; i++) {
        CHECK(fabs(counts[i] / 100.0 - trials[i]) < 0.1 * trials[i] + 1);
    }
    struct rule one = hyperband;
    one.max_reports = 1;
    CHECK_INT(stopping_asha_brackets(&one), 1);
    one = (struct rule){.min_reports = 1, .max_reports = 1000000, .factor = 2, .brackets = 1};
    CHECK_INT(stopping_asha_brackets(&one), 20);
    CHECK_INT(stopping_asha_rung(&one, 0, INT64_MAX), 524288);
}

/* Who of n trials with these bests after 3 reports goes on; "-": not there yet. */
static void test_halving(void) {
    static const struct {
        const char *curves[7];
        const char *stopped; /* a letter for each */
    } rows[] = {
        {{"3::0.1:0", "3::0.2:0", NULL}, "--"},              /* too few */
        {{"3::0.1:0", "3::0.2:0", "2::0.9:0", NULL}, "---"}, /* one is not there */
        {{"3::0.1:0", "3::0.2:0", "3::0.3:0", NULL}, "ss-"}, /* 1 of 3 */
        {{"3::0.1:0", "3::0.1:0", "3::0.1:0", NULL}, "---"}, /* ties */
        {{"1::9:0 3::0.1:0", "1::1:0 3::0.2:0", "1::2:0 3::0.3:0", NULL},
         "ss-"},                                         /* at 3, not at 1 */
        {{"3::0.1:0", "3:::", "3::0.3:0", NULL}, "ss-"}, /* no numbers */
        {{"3::1:0", "3::2:0", "3::3:0", "3::4:0", "3::5:0", "3::6:0", NULL}, "ssss--"},
        {{"4::1:0", "3::2:0", "4::3:0", NULL}, "ss-"},        /* the next point after the rung */
        {{"3::1:0 9::1:0", "3::2:0", "3::3:0", NULL}, "-s-"}, /* it is judged at 9 */
    };
    static const struct rule rule = {
        .kind = RULE_ASHA, .min_reports = 3, .max_reports = 27, .factor = 3, .brackets = 1};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct curve curves[TRIALS_MAX];
        struct rule_trial trials[TRIALS_MAX];
        size_t count = 0;
        char stopped[TRIALS_MAX + 1] = "", why[RULE_WHY_MAX];
        for (; rows[i].curves[count]; count++) {
            curves[count] = curve_read(rows[i].curves[count]);
            trials[count] = (struct rule_trial){&curves[count], true, (int64_t)count};
        }
        for (size_t k = 0; k < count; k++) {
            bool stops = stops_one(&rule, GOAL_MAXIMIZE, trials, count, k, why);
            stopped[k] = stops ? 's' : '-';
            CHECK(!stops || text_starts(why, "ASHA: after "));
        }
        CHECK_STR(stopped, rows[i].stopped);
        for (size_t k = 0; k < count; k++) {
            curve_release(&curves[k]);
        }
    }
}

int main(void) {
    TEST(test_rungs_and_brackets);
    TEST(test_halving);
    TEST(test_curves_are_read);
    TEST(test_a_curve_has_a_bound);
    TEST(test_bandit_bounds);
    TEST(test_median_bounds);
    TEST(test_truncation_ranks);
    TEST(test_who_is_judged_by_what);
    TEST(test_goals_mirror_each_other);
    return TEST_END();
}
