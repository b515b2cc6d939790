// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/space_points.h"

#include "lib/number/philox.h"
#include "operator/kinds/sweep/search/draws.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* The first and last multiple of q of a range; false: it has no ends. */
static bool ends_of(const struct space_parameter *parameter, double *ret_first, double *ret_last) {
    double low = parameter->low, high = parameter->high;
    if (parameter->expression == EXPRESSION_QLOGUNIFORM) {
        low = exp(low);
        high = exp(high);
    } else if (parameter->expression != EXPRESSION_QUNIFORM) {
        return false;
    }
    *ret_first = round(low / parameter->q);
    *ret_last = round(high / parameter->q);
    return true;
}

int64_t space_levels(const struct space_parameter *parameter) {
    double first, last;
    if (parameter->count > 0) {
        return parameter->count;
    }
    if (!ends_of(parameter, &first, &last) || last - first >= (double)PHILOX_COUNT_MAX) {
        return 0;
    }
    return (int64_t)(last - first) + 1;
}

static double unit_of_level(const struct space_parameter *parameter, int64_t level) {
    double first, last;
    if (parameter->count > 0) {
        return space_middle(level, parameter->count);
    }
    ends_of(parameter, &first, &last);
    return space_unit(parameter, (first + (double)level) * parameter->q);
}

/* ---- points as numbers ---- */

static int64_t times(int64_t a, int64_t b) {
    return b == 0 || a > PHILOX_COUNT_MAX / b ? 0 : a * b;
}

/* How many points the children of a parameter have while it has that value; 0: too many. */
static int64_t below(const struct space *space, const int64_t *counts, int parent, int64_t value) {
    int64_t product = 1;
    for (int i = parent + 1; i < space->count; i++) {
        if (space->at[i].parent == parent && space_allows(&space->at[i], value)) {
            product = times(product, counts[i]);
        }
    }
    return product;
}

static bool is_parent(const struct space *space, int which) {
    for (int i = which + 1; i < space->count; i++) {
        if (space->at[i].parent == which) {
            return true;
        }
    }
    return false;
}

/* counts: the points of each parameter with all that depend on it; parents come before children. */
static int64_t count_all(const struct space *space, int64_t counts[static SPACE_PARAMETERS_MAX]) {
    int64_t all = 1;
    for (int i = space->count - 1; i >= 0; i--) {
        int64_t levels = space_levels(&space->at[i]);
        counts[i] = is_parent(space, i) ? 0 : levels;
        for (int64_t value = 0; value < levels && is_parent(space, i); value++) {
            int64_t some = below(space, counts, i, value);
            if (some == 0 || counts[i] + some > PHILOX_COUNT_MAX) {
                return 0;
            }
            counts[i] += some;
        }
        if (counts[i] == 0) {
            return 0;
        }
    }
    for (int i = 0; i < space->count; i++) {
        all = space->at[i].parent < 0 ? times(all, counts[i]) : all;
    }
    return all;
}

int64_t space_count(const struct space *space) {
    int64_t counts[SPACE_PARAMETERS_MAX];
    return count_all(space, counts);
}

/* Divides a number among the children of a parameter that has that value, the last one fastest. */
static void divide(const struct space *space, const int64_t *counts, int parent, int64_t value,
                   int64_t number, int64_t *numbers) {
    for (int i = space->count - 1; i > parent; i--) {
        if (space->at[i].parent == parent && (parent < 0 || space_allows(&space->at[i], value))) {
            numbers[i] = number % counts[i];
            number /= counts[i];
        }
    }
}

void space_numbered(const struct space *space, int64_t number, double *units) {
    int64_t counts[SPACE_PARAMETERS_MAX], numbers[SPACE_PARAMETERS_MAX];
    count_all(space, counts);
    for (int i = 0; i < space->count; i++) {
        numbers[i] = -1; /* not active */
    }
    divide(space, counts, -1, 0, number, numbers);
    for (int i = 0; i < space->count; i++) {
        int64_t value = numbers[i];
        if (value >= 0 && is_parent(space, i)) {
            int64_t rest = value;
            value = 0;
            for (int64_t some; rest >= (some = below(space, counts, i, value)); value++) {
                rest -= some;
            }
            divide(space, counts, i, value, rest, numbers);
        }
        units[i] = value < 0 ? SPACE_INACTIVE : unit_of_level(&space->at[i], value);
    }
}

/* ---- a random order ---- */

bool space_is_even(const struct space *space) {
    for (int i = 0; i < space->count; i++) {
        if (space->at[i].count == 0 || space->at[i].parent >= 0) {
            return false;
        }
    }
    return true;
}

/* The probability of a value: the part of the units that it has. */
static double likelihood(const struct space_parameter *parameter, double unit) {
    if (parameter->count > 0) {
        return 1 / (double)parameter->count;
    }
    double value = space_value(parameter, unit), half = parameter->q / 2;
    double part = space_unit(parameter, value + half) - space_unit(parameter, value - half);
    return fmax(part, 1e-12);
}

struct place {
    double time; /* an exponential clock whose rate is the point's probability */
    int64_t number;
};

static int by_time(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->time != b->time ? (a->time > b->time) - (a->time < b->time)
                              : (a->number > b->number) - (a->number < b->number);
}

int64_t *space_order(const struct space *space, int64_t count, uint64_t seed) {
    struct place *places = x_calloc((size_t)count, sizeof *places);
    int64_t *order = x_calloc((size_t)count, sizeof *order);
    for (int64_t number = 0; number < count; number++) {
        double units[SPACE_PARAMETERS_MAX], part = 1;
        space_numbered(space, number, units);
        for (int i = 0; i < space->count; i++) {
            part *= space_is_active(space, units, i) ? likelihood(&space->at[i], units[i]) : 1;
        }
        double unit = philox_unit(philox_bits(seed, DRAWS_ORDER, number, 0));
        places[number] = (struct place){-log1p(-unit) / part, number};
    }
    qsort(places, (size_t)count, sizeof *places, by_time);
    for (int64_t i = 0; i < count; i++) {
        order[i] = places[i].number;
    }
    free(places);
    return order;
}

int64_t space_size(const struct space *space) {
    int64_t count = space_count(space);
    return count > SPACE_ORDER_MAX && !space_is_even(space) ? 0 : count;
}

/* ---- points ---- */

static void sobol_units(const struct space_points *points, int64_t index, double *units) {
    for (int i = 0; i < points->space->count; i++) {
        uint32_t shift = (uint32_t)(philox_bits(points->seed, DRAWS_SHIFT, 0, (uint32_t)i) >> 32);
        units[i] = (sobol_bits(&points->sobol, i, (uint32_t)index) ^ shift) * 0x1p-32;
    }
}

void space_points_init(struct space_points *points, const struct space *space, enum search search,
                       uint64_t seed) {
    int64_t size = space_size(space);
    search = search == SEARCH_SOBOL && size > 0 ? SEARCH_RANDOM : search;
    *points = (struct space_points){space, search, seed, size, NULL, {{{0}}}};
    assert(search != SEARCH_GRID || points->size > 0);
    if (search == SEARCH_SOBOL) {
        sobol_init(&points->sobol);
    }
    if (search == SEARCH_RANDOM && size > 0 && !space_is_even(space)) {
        points->order = space_order(space, size, seed);
    }
}

void space_points_release(struct space_points *points) {
    free(TAKE(points->order));
}

void space_points_at(const struct space_points *points, int64_t index, double *units) {
    int64_t size = points->size;
    assert(index >= 0 && (size == 0 || index < size));
    if (points->search == SEARCH_SOBOL) {
        sobol_units(points, index, units);
    } else if (points->search == SEARCH_GRID) {
        space_numbered(points->space, index, units);
    } else if (size > 0) {
        int64_t number = points->order ? points->order[index]
                                       : philox_permute(points->seed, DRAWS_RANDOM, size, index);
        space_numbered(points->space, number, units);
    } else {
        for (int i = 0; i < points->space->count; i++) {
            units[i] = philox_unit(philox_bits(points->seed, DRAWS_RANDOM, index, (uint32_t)i));
        }
    }
    space_rest(points->space, units);
}
