/* bayes.h: the next point of a Sweep with algorithm.kind Bayesian: the point with the largest
 * expected improvement on the best under a Gaussian process (gaussian.h). Mockus, Tiesis,
 * Zilinskas, "The application of Bayesian methods for seeking the extremum", 1978; Jones, Schonlau,
 * Welch, "Efficient global optimization of expensive black-box functions", 1998. Where trials fail,
 * the improvement counts with the probability of success (feasible.h). Pure: a function of the
 * observations and the seed, so a restarted controller proposes the same. */
#pragma once

#include "operator/kinds/sweep/search/space_points.h"

/* Limits bad scores: times the distance from the median to the best. */
#define BAYES_FAR_WORSE 5

struct bayes_trial {
    double units[SPACE_PARAMETERS_MAX]; /* space_units: coordinates in [0, 1] */
    double score; /* sweep_score: higher is better, whatever the goal; -INFINITY or NAN: unknown */
    bool is_running; /* its score is ignored, and so is the next field */
    bool has_failed; /* it ended without a value, or failed: its score is ignored */
};

/* How many first trials are Sobol points (in a finite space: points of the Random search) before
 * the model is used: max(5, 2 x number of parameters). */
int bayes_first(const struct space *space);

/* Writes the point of trial number `index`, space->count coordinates in [0, 1], to `units`. With an
 * index below bayes_first, or fewer than three known scores, that is the point of Sobol or Random:
 * where most trials fail the search is not worse than chance.
 * trials: the others, oldest first. All with a known score are observations; of more than
 * GAUSSIAN_SEEN_MAX, the better half of that number by score and the newest of the rest. Running
 * trials count as ended with the predicted value (the "kriging believer"), in both models.
 *
 * The search does not stick: a point is not suggested within 0.0001 of an earlier trial, nor within
 * 0.01 of a failed one (in every parameter, as a part of its range; choices and whole numbers: the
 * same one), while there are others. In a finite space no point is suggested twice while other
 * points are left (index is below its size). */
void bayes_point(const struct space *space, uint64_t seed, int64_t index,
                 const struct bayes_trial *trials, size_t count, double *units);
