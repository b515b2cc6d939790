// SPDX-License-Identifier: Apache-2.0
/* Bayesian beats Random: the median over 20 seeds (under sanitizers 2) of the best of 60 trials, on
 * Branin's function and Hartmann's of six dimensions (Dixon and Szego, "Towards Global Optimization
 * 2", 1978), four trials at once. And its behaviour where nothing can be concluded. */
#include "operator/kinds/sweep/search/bayes.h"

#include "tests/seed.h"
#include "tests/test.h"
#include "tests/unit/operator/kinds/sweep/search/search_functions.h"

#include <math.h>
#include <stdlib.h>

enum { TRIALS = 60, SEEDS = 20, AT_ONCE = 4 };

static struct space cube(int dimensions) {
    static const char *const names[] = {"A", "B", "C", "D", "E", "F"};
    struct space space = {.count = dimensions};
    for (int i = 0; i < dimensions; i++) {
        space.at[i] = (struct space_parameter){
            .name = names[i], .expression = EXPRESSION_UNIFORM, .low = 0, .high = 1, .parent = -1};
    }
    return space;
}

/* The lowest value seen; AT_ONCE trials run while the next one is chosen. */
static double search(const struct space *space, double (*function)(const double *), uint64_t seed,
                     bool is_bayes) {
    struct bayes_trial trials[TRIALS] = {{.is_running = true}};
    struct space_points random;
    space_points_init(&random, space, SEARCH_RANDOM, seed);
    double best = INFINITY;
    for (int i = 0; i < TRIALS; i++) {
        if (is_bayes) {
            bayes_point(space, seed, i, trials, (size_t)i, trials[i].units);
        } else {
            space_points_at(&random, i, trials[i].units);
        }
        trials[i].is_running = true;
        int ended = i - AT_ONCE + 1;
        if (ended >= 0) {
            trials[ended].is_running = false;
            trials[ended].score = -function(trials[ended].units);
        }
        best = fmin(best, function(trials[i].units));
    }
    return best;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_best(const struct space *space, double (*function)(const double *),
                          bool is_bayes) {
    double bests[SEEDS];
    int seeds = SEEDS / (int)test_divisor() / 2 * 2; /* an even number */
    for (int i = 0; i < seeds; i++) {
        bests[i] = search(space, function, test_seed(1) + (uint64_t)i, is_bayes);
    }
    qsort(bests, (size_t)seeds, sizeof *bests, by_value);
    return (bests[seeds / 2 - 1] + bests[seeds / 2]) / 2;
}

static void test_branin(void) {
    struct space space = cube(2);
    double bayes = median_best(&space, branin, true), random = median_best(&space, branin, false);
    printf("# Branin, least 0.397887: Bayesian %.6f, Random %.6f\n", bayes, random);
    CHECK(bayes < random && bayes < 0.397887 + 0.01);
}

static void test_hartmann(void) {
    struct space space = cube(6);
    double bayes = median_best(&space, hartmann6, true),
           random = median_best(&space, hartmann6, false);
    printf("# Hartmann-6, least -3.322368: Bayesian %.4f, Random %.4f\n", bayes, random);
    CHECK(bayes < random && bayes < -2.9);
}

/* ---- a space of few points ---- */

static struct space few(json_t **ret_json) {
    static const char text[] = "[{\"name\": \"A\", \"choice\": [\"x\", \"y\", \"z\"]},"
                               " {\"name\": \"B\", \"randint\": {\"upper\": 7}}]";
    struct space space = {0};
    struct error err = {0};
    *ret_json = json_loads(text, 0, NULL);
    CHECK_OK(space_read(*ret_json, &space, &err), &err);
    return space;
}

static double of_few(const double *units) {
    return floor(units[0] * 3) * 10 + floor(units[1] * 7);
}

static void test_a_small_space_is_used_up(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = few(&json);
    struct bayes_trial trials[21] = {0};
    int seen[30] = {0}, best_at = -1;
    CHECK_INT(space_size(&space), 21);
    for (int i = 0; i < 21; i++) {
        bayes_point(&space, 3, i, trials, (size_t)i, trials[i].units);
        trials[i].is_running = false;
        trials[i].score = of_few(trials[i].units);
        CHECK(seen[(int)trials[i].score]++ == 0);
        best_at = trials[i].score == 26 ? i : best_at;
    }
    CHECK(best_at >= 0 && best_at < 14);
}

/* No values, or all of them equal: it continues as it began. */
static void test_nothing_is_known(void) {
    struct space space = cube(2);
    for (int kind = 0; kind < 3; kind++) {
        struct bayes_trial trials[12] = {0};
        struct space_points sobol;
        space_points_init(&sobol, &space, SEARCH_SOBOL, 9);
        for (int i = 0; i < 12; i++) {
            double line[2];
            bayes_point(&space, 9, i, trials, (size_t)i, trials[i].units);
            trials[i].is_running = kind == 1;
            trials[i].score = kind == 0 ? -INFINITY : kind == 1 ? NAN : 7;
            space_points_at(&sobol, i, line);
            CHECK(kind == 2 || (line[0] == trials[i].units[0] && line[1] == trials[i].units[1]));
            for (int k = 0; k < i; k++) {
                CHECK(trials[k].units[0] != trials[i].units[0] ||
                      trials[k].units[1] != trials[i].units[1]);
            }
        }
    }
}

/* One diverged training does not hide the results of the others. */
static void test_one_is_far_worse(void) {
    struct space space = cube(2);
    struct bayes_trial trials[30] = {0};
    double nearest = INFINITY;
    for (int i = 0; i < 30; i++) {
        bayes_point(&space, 4, i, trials, (size_t)i, trials[i].units);
        double x = trials[i].units[0] - 0.3, y = trials[i].units[1] - 0.6;
        trials[i].is_running = false;
        trials[i].score = i == 2 ? -1e12 : -(x * x + y * y);
        nearest = i == 2 ? nearest : fmin(nearest, -trials[i].score);
    }
    CHECK(nearest < 1e-4);
}

int main(void) {
    if (test_samples(0, 2, 2, test_day())) { /* each takes seconds: day by day one of them */
        TEST(test_branin);
    }
    if (test_samples(1, 2, 2, test_day())) {
        TEST(test_hartmann);
    }
    TEST(test_a_small_space_is_used_up);
    TEST(test_nothing_is_known);
    TEST(test_one_is_far_worse);
    return TEST_END();
}
