/* draws.h: the random numbers of a Sweep come from one seed. What draws them has an epoch of its
 * own (philox.h), so that no two draws are the same numbers. The values are those of every Sweep
 * that runs: a change would let it draw others. */
#pragma once

enum draws_epoch {
    DRAWS_RANDOM = 0,  /* Random's points (space_points.c) */
    DRAWS_SHIFT = 1,   /* the shift of Sobol's points */
    DRAWS_BRACKET = 2, /* a trial's bracket of asha and hyperband (stopping_asha.c) */
    DRAWS_ORDER = 3,   /* the order of a finite space's points */
    DRAWS_EXPLOIT = 4, /* the parents of a population (population.c) */
    DRAWS_EXPLORE = 5, /* its new values */
    DRAWS_WEIGHT = 6,  /* the weights of several objectives (front.c) */
};
