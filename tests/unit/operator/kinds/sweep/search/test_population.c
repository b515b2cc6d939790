// SPDX-License-Identifier: Apache-2.0
/* Who continues from whom, with which values; and a population finds what no constant value does.
 */
#include "operator/kinds/sweep/search/population.h"

#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 10, GENERATIONS = 12 };

static const char text[] =
    "[{\"name\": \"R\", \"loguniform\": {\"min\": \"1e-4\", \"max\": \"1\"}},"
    " {\"name\": \"O\", \"choice\": [\"a\", \"b\", \"c\"]},"
    " {\"name\": \"Q\", \"quniform\": {\"min\": \"0\", \"max\": \"1\", \"q\": \"0.1\"}}]";

static struct space open_space(json_t **ret_json) {
    struct space space = {0};
    struct error err = {0};
    *ret_json = json_loads(text, 0, NULL);
    CHECK_OK(space_read(*ret_json, &space, &err), &err);
    return space;
}

static void test_who_continues(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = open_space(&json);
    struct population population = {SIZE, 20};
    struct population_trial before[SIZE];
    int drawn = 0, changed = 0, same = 0;
    for (int i = 0; i < SIZE; i++) {
        before[i] =
            (struct population_trial){{0.1 + 0.08 * i, 0.5, 0.5}, i == 3 ? -INFINITY : (double)i};
        space_snap(&space, before[i].units);
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        for (int64_t i = 0; i < SIZE; i++) {
            struct population_point point, again;
            population_next(&space, &population, seed, 3 * SIZE + i, before, &point);
            population_next(&space, &population, seed, 3 * SIZE + i, before, &again);
            CHECK(memcmp(point.units, again.units, (size_t)space.count * sizeof(double)) == 0 &&
                  point.parent == again.parent);
            bool is_worst = i == 3 || i == 0; /* 3 has failed, and 0 is the worst of the others */
            CHECK_INT(is_worst, point.parent != 2 * SIZE + i);
            if (!is_worst) {
                CHECK(memcmp(point.units, before[i].units, 3 * sizeof(double)) == 0);
                continue;
            }
            CHECK(point.parent == 2 * SIZE + 9 || point.parent == 2 * SIZE + 8);
            const double *parent = before[point.parent - 2 * SIZE].units;
            double ratio =
                space_value(&space.at[0], point.units[0]) / space_value(&space.at[0], parent[0]);
            bool is_step = fabs(ratio - 0.8) < 1e-9 || fabs(ratio - 1.2) < 1e-9;
            drawn += !is_step;
            changed += is_step;
            same += point.units[1] == parent[1];
            for (int k = 0; k < space.count; k++) {
                CHECK(point.units[k] >= 0 && point.units[k] <= 1);
            }
        }
    }
    CHECK(drawn > 60 && drawn < 140 && changed == 400 - drawn); /* a quarter of 400 is drawn anew */
    CHECK(same < 60); /* by a new draw of the same choice */
}

static void test_none_has_completed(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = open_space(&json);
    struct population population = {2, 20};
    struct population_trial before[2] = {{{0.1, 0.5, 0.5}, -INFINITY},
                                         {{0.2, 0.5, 0.5}, -INFINITY}};
    struct population_point a, b;
    population_next(&space, &population, 7, 4, before, &a);
    population_next(&space, &population, 7, 5, before, &b);
    CHECK(a.parent == -1 && b.parent == -1 && a.units[0] != b.units[0]);
    before[1].score = 0.5; /* one is the best and not the worst */
    population_next(&space, &population, 7, 4, before, &a);
    population_next(&space, &population, 7, 5, before, &b);
    CHECK(a.parent == 3 && b.parent == 3 && b.units[0] == before[1].units[0]);
}

/* A training whose best rate shrinks by half in each interval: what is left falls by how near the
 * rate is to it. Values that stay, as of Random, lose it; a population follows. */
static double train(const struct space *space, const double *units, int generation, double left) {
    double wanted = 0.3 * pow(0.5, generation);
    return left * (1 - 0.9 * exp(-pow(log(space_value(&space->at[0], units[0]) / wanted), 2)));
}

static double search(const struct space *space, bool is_population, uint64_t seed) {
    double left[GENERATIONS + 1][SIZE], least = INFINITY;
    struct population population = {SIZE, 20};
    struct population_trial before[SIZE], now[SIZE];
    struct space_points points;
    space_points_init(&points, space, SEARCH_RANDOM, seed);
    for (int g = 0; g < GENERATIONS; g++) {
        for (int i = 0; i < SIZE; i++) {
            struct population_point point = {.parent = -1};
            if (g == 0) {
                space_points_at(&points, i, point.units);
            } else if (is_population) {
                population_next(space, &population, seed, g * SIZE + i, before, &point);
            } else {
                memcpy(point.units, before[i].units, sizeof point.units);
                point.parent = (g - 1) * SIZE + i;
            }
            double start = point.parent < 0 ? 1 : left[g - 1][point.parent % SIZE];
            left[g][i] = train(space, point.units, g, start);
            memcpy(now[i].units, point.units, sizeof now[i].units);
            now[i].score = -left[g][i];
            least = fmin(least, left[g][i]);
        }
        memcpy(before, now, sizeof before);
    }
    return least;
}

static void test_it_follows_a_schedule(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = open_space(&json);
    int better = 0;
    double sum = 0, alone = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double with = search(&space, true, seed), without = search(&space, false, seed);
        better += with < without;
        sum += log10(with) / 20;
        alone += log10(without) / 20;
    }
    printf("# what is left, geometric mean of 20: population 1e%.1f, constant values 1e%.1f\n", sum,
           alone);
    CHECK(better >= 18);
}

int main(void) {
    TEST(test_who_continues);
    TEST(test_none_has_completed);
    TEST(test_it_follows_a_schedule);
    return TEST_END();
}
