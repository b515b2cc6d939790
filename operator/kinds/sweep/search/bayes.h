/* bayes.h: the next point of a Sweep with algorithm.kind Bayesian: the point with the largest
 * expected improvement on the best under a Gaussian process (gaussian.h). Mockus, Tiesis,
 * Zilinskas, "The application of Bayesian methods for seeking the extremum", 1978; Jones, Schonlau,
 * Welch, "Efficient global optimization of expensive black-box functions", 1998. Pure: a function
 * of the observations and the seed. */
#pragma once

#include "operator/kinds/sweep/search/space.h"

struct bayes_trial {
    double units[SPACE_PARAMETERS_MAX]; /* space_units */
    double score;                       /* sweep_score; -INFINITY or NAN: unknown */
    bool is_running;                    /* its score is ignored */
};

/* The number of first trials of a space that are Sobol points (Random's in a finite space) before
 * the model is used: max(5, 2 parameters). */
int bayes_first(const struct space *space);

/* The point of trial number `index`; units: [space->count]. trials: the others, oldest first; the
 * best and the newest GAUSSIAN_SEEN_MAX / 2 of them are the observations. Running trials are
 * assumed to end with the predicted value. A point that is among the trials is not suggested again
 * while a finite space has other points (index is below its size). */
void bayes_point(const struct space *space, uint64_t seed, int64_t index,
                 const struct bayes_trial *trials, size_t count, double *units);
