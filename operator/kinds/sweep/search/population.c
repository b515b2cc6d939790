// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/population.h"

#include "lib/number/philox.h"
#include "operator/kinds/sweep/search/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLED 0.25
#define UNCHANGED 1e-9

struct rank {
    double score;
    int64_t member;
};

static int best_first(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score)
                                : (a->member > b->member) - (a->member < b->member);
}

static double chance(uint64_t seed, int64_t index, int parameter, int which) {
    return philox_unit(philox_bits(seed, DRAWS_EXPLORE, index, (uint32_t)(parameter * 4 + which)));
}

static double perturb(const struct space_parameter *parameter, double unit, bool up) {
    if (parameter->count > 0) {
        double step = 1 / (double)parameter->count;
        bool goes_up = unit + step > 1 || (up && unit + step < 1) ? unit + step < 1 : unit < step;
        return fmin(fmax(unit + (goes_up ? step : -step), step / 2), 1 - step / 2);
    }
    double value = space_value(parameter, unit);
    double changed = space_unit(parameter, value * (up ? 1.2 : 0.8));
    return fabs(changed - unit) > UNCHANGED ? changed
                                            : space_unit(parameter, value * (up ? 0.8 : 1.2));
}

static void explore(const struct space *space, uint64_t seed, int64_t index, double *units) {
    for (int i = 0; i < space->count; i++) {
        double next = perturb(&space->at[i], units[i], chance(seed, index, i, 2) < 0.5);
        bool is_stuck = fabs(next - units[i]) <= UNCHANGED; /* 0, or q is too large */
        bool is_drawn = is_stuck || chance(seed, index, i, 0) < RESAMPLED;
        units[i] = is_drawn ? chance(seed, index, i, 1) : next;
    }
    space_snap(space, units);
}

/* The place of a member in the order of its generation, the best at 0; *ret_ended: how many have
 * completed. order: [size]. */
static int64_t rank_all(const struct population *population, const struct population_trial *before,
                        int64_t member, struct rank *order, int64_t *ret_ended) {
    int64_t place = 0, ended = 0;
    for (int64_t i = 0; i < population->size; i++) {
        order[i] = (struct rank){before[i].score, i};
        ended += before[i].score > -INFINITY;
    }
    qsort(order, (size_t)population->size, sizeof *order, best_first);
    while (order[place].member != member) {
        place++;
    }
    *ret_ended = ended;
    return place;
}

void population_next(const struct space *space, const struct population *population, uint64_t seed,
                     int64_t index, const struct population_trial *before,
                     struct population_point *ret_point) {
    int64_t size = population->size, member = index % size, ended = 0;
    int64_t first = index - member - size; /* of the generation before */
    struct rank *order = x_calloc((size_t)size, sizeof *order);
    int64_t place = rank_all(population, before, member, order, &ended);
    int64_t some = MAX(size * population->percentage / 100, (int64_t)1);
    if (ended == 0) {
        AUTO(space_points_release) struct space_points points;
        space_points_init(&points, space, SEARCH_RANDOM, seed);
        space_points_at(&points, points.size > 0 ? index % points.size : index, ret_point->units);
        ret_point->parent = -1;
    } else if (place < ended && place < MAX(size - some, (int64_t)1)) {
        memcpy(ret_point->units, before[member].units, sizeof ret_point->units);
        ret_point->parent = first + member;
    } else {
        uint64_t bits = philox_bits(seed, DRAWS_EXPLOIT, index, 0);
        int64_t better = order[philox_below(bits, MIN(some, ended))].member;
        memcpy(ret_point->units, before[better].units, sizeof ret_point->units);
        explore(space, seed, index, ret_point->units);
        ret_point->parent = first + better;
    }
    free(order);
}
