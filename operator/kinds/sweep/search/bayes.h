/* bayes.h: where a Sweep with algorithm.kind Bayesian looks next: where the improvement on the best
 * that is expected of a Gaussian process (gaussian.h) is largest. Mockus, Tiesis, Zilinskas, "The
 * application of Bayesian methods for seeking the extremum", 1978; Jones, Schonlau, Welch,
 * "Efficient global optimization of expensive black-box functions", 1998. Pure: a function of what
 * was seen and of the seed. */
#pragma once

#include "operator/kinds/sweep/search/space.h"

struct bayes_trial {
    double units[SPACE_PARAMETERS_MAX]; /* space_units */
    double score;                       /* goal_score; -INFINITY or NAN: nothing is known of it */
    bool is_running;                    /* its score is not looked at */
};

/* So many trials of a space are Sobol's (of a finite space Random's) before anything is concluded:
 * max(5, 2 parameters). */
int bayes_first(const struct space *space);

/* The point of trial number `index`; units: [space->count]. trials: the others, oldest first, of
 * which the best and the newest GAUSSIAN_SEEN_MAX / 2 are observations. Running ones are expected
 * to come out as predicted. No point that is among the trials is suggested again, but where a
 * finite space (index below its size) has points that nobody knows of. */
void bayes_point(const struct space *space, uint64_t seed, int64_t index,
                 const struct bayes_trial *trials, size_t count, double *units);
