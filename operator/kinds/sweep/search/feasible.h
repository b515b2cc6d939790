/* feasible.h: where trials fail. The probability that a trial at a point succeeds, learned from
 * those that succeeded and those that failed.
 *
 * A failed trial says nothing about the objective, so it is kept out of the model of the scores: a
 * bad score in its place ("worst seen") would make a cliff there, which shortens the length scale
 * everywhere and pushes the search away from an optimum beside the cliff. Instead the expected
 * improvement is multiplied by this probability, as in Gardner et al., "Bayesian Optimization with
 * Inequality Constraints", ICML 2014, and Gelbart, Snoek, Adams, "Bayesian Optimization with
 * Unknown Constraints", UAI 2014. The model is a Gaussian process of the labels 1 and -1
 * (least-squares classification, Rasmussen and Williams 2006, 6.5) instead of Gelbart's latent
 * process with a probit: candidates are only ranked by it, and it needs no iteration. Pure. */
#pragma once

#include "operator/kinds/sweep/search/bayes.h"
#include "operator/kinds/sweep/search/gaussian.h"

/* A trial that ended without a value: outcomes of bayes.h. */
bool feasible_has_failed(const struct bayes_trial *trial);
/* A trial that ended with a value. */
bool feasible_is_known(const struct bayes_trial *trial);

/* The model of these trials; running ones count as ended as expected. At most GAUSSIAN_SEEN_MAX are
 * used, the newest of both sorts. NULL: none has failed, or none has succeeded. Owned. */
struct gaussian *feasible_fit(const struct gaussian_shape *shape, const struct bayes_trial *trials,
                              size_t count);
/* The probability of success at a point, from 0 to 1; 1 without a model. */
double feasible_at(const struct gaussian *model, const double *units);
