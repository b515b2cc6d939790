/* gaussian.h: a Gaussian process over the unit cube, given what was seen of a function. Rasmussen
 * and Williams, "Gaussian Processes for Machine Learning", 2006: 2.2 (prediction,
 * algorithm 2.1), 4.2 (Matern), 5.4.1 (the likelihood). Pure; owns copies of what it is given.
 *
 * Values are thought of as a mean of 0 and covariances a (m(r) + [same observation] noise), with
 * m(r) = (1 + t + t t / 3) exp(-t), t = sqrt(5) r / length: Matern's of smoothness 5/2. The
 * amplitude a is the likeliest one, which is known in closed form. */
#pragma once

#include "lib/base.h"

enum { GAUSSIAN_SEEN_MAX = 128, GAUSSIAN_RUNNING_MAX = 128, GAUSSIAN_DIMENSIONS_MAX = 32 };

/* What lies how far: a dimension adds the square of its difference, one of choices 2 where they
 * differ (as one-hot columns would). */
struct gaussian_shape {
    int dimensions;
    bool is_choice[GAUSSIAN_DIMENSIONS_MAX];
};

struct gaussian_settings {
    double length;
    double noise; /* its variance, of the amplitude; above 0 */
};

struct gaussian;

/* points: [count, dimensions], values: [count]; 1 to GAUSSIAN_SEEN_MAX of them. NULL: so near to
 * each other, and with so little noise, that nothing can be calculated with these settings. */
struct gaussian *gaussian_new(const struct gaussian_shape *shape, const double *points,
                              const double *values, size_t count,
                              struct gaussian_settings settings);
/* The likeliest of 50 settings, lengths from 0.05 to 2.5 of the root of the number of dimensions
 * and noise from 1e-6 to 0.1; never NULL. */
struct gaussian *gaussian_fit(const struct gaussian_shape *shape, const double *points,
                              const double *values, size_t count);
void gaussian_free(struct gaussian *gaussian);
void gaussian_freep(struct gaussian **gaussian); /* for AUTO */

double gaussian_amplitude(const struct gaussian *gaussian);
struct gaussian_settings gaussian_settings(const struct gaussian *gaussian);
double gaussian_log_likelihood(const struct gaussian *gaussian); /* of the values */

/* point is as good as seen, with the value that is expected there: means stay as they are, and
 * nobody is uncertain near it any more. Beyond GAUSSIAN_RUNNING_MAX of them nothing happens. */
void gaussian_expect(struct gaussian *gaussian, const double *point);

/* Of the function at a point, without the noise of an observation. */
struct gaussian_belief {
    double mean, deviation;
};
struct gaussian_belief gaussian_at(const struct gaussian *gaussian, const double *point);
