/* gaussian.h: a Gaussian process over the unit cube, given observations of a function. Rasmussen
 * and Williams, "Gaussian Processes for Machine Learning", 2006: 2.2 (prediction, algorithm 2.1),
 * 4.2 (Matern), 5.4.1 (the likelihood). Pure; it owns copies of its inputs.
 *
 * The model has mean 0 and covariances a (m(r) + [same observation] noise), with m(r) = (1 + t + t
 * t / 3) exp(-t), t = sqrt(5) r / length: Matern's with smoothness 5/2. The amplitude a is the
 * maximum-likelihood value, which has a closed form. */
#pragma once

#include "lib/base.h"

enum { GAUSSIAN_SEEN_MAX = 128, GAUSSIAN_RUNNING_MAX = 128, GAUSSIAN_DIMENSIONS_MAX = 32 };

/* The distance between points: a dimension adds the square of its difference; a dimension of
 * choices adds 2 when they differ (like one-hot columns). */
struct gaussian_shape {
    int dimensions;
    bool is_choice[GAUSSIAN_DIMENSIONS_MAX];
};

struct gaussian_settings {
    double length;
    double noise; /* its variance, relative to the amplitude; above 0 */
};

struct gaussian;

/* points: [count, dimensions], values: [count]; 1 to GAUSSIAN_SEEN_MAX of them. NULL: the points
 * are so near to each other, with so little noise, that the covariance matrix is numerically
 * singular. */
struct gaussian *gaussian_new(const struct gaussian_shape *shape, const double *points,
                              const double *values, size_t count,
                              struct gaussian_settings settings);
/* The likeliest of 50 settings: lengths from 0.05 to 2.5 times the square root of the number of
 * dimensions, noise from 1e-6 to 0.1. Never NULL. */
struct gaussian *gaussian_fit(const struct gaussian_shape *shape, const double *points,
                              const double *values, size_t count);
void gaussian_free(struct gaussian *gaussian);
void gaussian_freep(struct gaussian **gaussian); /* for AUTO */

double gaussian_amplitude(const struct gaussian *gaussian);
struct gaussian_settings gaussian_read_settings(const struct gaussian *gaussian);
double gaussian_log_likelihood(const struct gaussian *gaussian); /* of the values */

/* Treats point as observed with the expected value: means do not change, and the deviation near it
 * becomes small. After GAUSSIAN_RUNNING_MAX such points it has no effect. */
void gaussian_expect(struct gaussian *gaussian, const double *point);

/* The prediction of the function at a point, without the noise of an observation. */
struct gaussian_belief {
    double mean, deviation;
};
struct gaussian_belief gaussian_at(const struct gaussian *gaussian, const double *point);
