/* population.h: population based training (Jaderberg et al., "Population Based Training of Neural
 * Networks", 2017), by generations: each trial trains for one interval, and trial index =
 * generation x size + member continues from a trial of the generation before.
 *
 * A member whose trial is among the best continues its own with the same values. One of the worst
 * `percentage` (by its last report), or whose trial failed, was stopped or is gone, continues from
 * one of the best `percentage`, chosen at random (exploit), with other values (explore): each
 * parameter is drawn anew with a probability of 1/4; otherwise a number is multiplied by 0.8 or 1.2
 * (within its bounds, and by its q; drawn anew where neither changes it), and a choice or whole
 * number moves to the next or the one before. The first generation, and one after a generation in
 * which no trial completed, is drawn by Random. Pure: a function of the seed and of the generation
 * before, so that a restarted controller proposes the same. */
#pragma once

#include "operator/kinds/sweep/search/space_points.h"

struct population {
    int64_t size;   /* members, from 2 */
    int percentage; /* 1 to 50 */
};

/* A trial of the generation before. */
struct population_trial {
    double units[SPACE_PARAMETERS_MAX];
    double score; /* sweep_score of its last report; -INFINITY: it did not complete */
};

struct population_point {
    double units[SPACE_PARAMETERS_MAX];
    int64_t parent; /* the index of the trial that it continues from; -1: none */
};

/* before: the generation's `size` trials, by member; index: from `size` on. */
void population_next(const struct space *space, const struct population *population, uint64_t seed,
                     int64_t index, const struct population_trial *before,
                     struct population_point *ret_point);
