// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/gaussian.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = GAUSSIAN_SEEN_MAX + GAUSSIAN_RUNNING_MAX, LENGTHS = 10, NOISES = 5 };

struct gaussian {
    struct gaussian_shape shape;
    struct gaussian_settings settings;
    size_t seen, rows; /* observations; and with expected points, which follow them */
    double *points;    /* [ROWS_MAX, dimensions] */
    double *factor;    /* [ROWS_MAX, ROWS_MAX], lower triangle: L, L L' = m + noise */
    double *weights;   /* [seen]: (m + noise)^-1 values */
    double amplitude, log_likelihood;
};

static double square(double x) {
    return x * x;
}

static double distance_square(const struct gaussian_shape *shape, const double *a,
                              const double *b) {
    double sum = 0;
    for (int i = 0; i < shape->dimensions; i++) {
        sum += shape->is_choice[i] ? (a[i] != b[i] ? 2 : 0) : square(a[i] - b[i]);
    }
    return sum;
}

static double matern(double distance_square, double length) {
    double t = sqrt(5 * distance_square) / length;
    return (1 + t + t * t / 3) * exp(-t);
}

/* Computes in place the row of L for a point with covariances `row` to the points before it and
 * `own` to itself. False: the remainder of `own` is zero or negative. */
static bool factor_row(const double *factor, size_t at, double *row, double own) {
    for (size_t i = 0; i < at; i++) {
        const double *other = factor + i * ROWS_MAX;
        double sum = row[i];
        for (size_t k = 0; k < i; k++) {
            sum -= other[k] * row[k];
        }
        row[i] = sum / other[i];
        own -= row[i] * row[i];
    }
    row[at] = own > 0 ? sqrt(own) : 0;
    return own > 1e-14;
}

/* Solves L L' weights = values, and computes the likelihood. */
static void solve(struct gaussian *gaussian, const double *values) {
    size_t n = gaussian->seen;
    double *x = gaussian->weights, logs = 0, fit = 0;
    for (size_t i = 0; i < n; i++) {
        const double *row = gaussian->factor + i * ROWS_MAX;
        x[i] = values[i];
        for (size_t k = 0; k < i; k++) {
            x[i] -= row[k] * x[k];
        }
        x[i] /= row[i];
        logs += log(row[i]);
        fit += x[i] * x[i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) {
            x[i] -= gaussian->factor[k * ROWS_MAX + i] * x[k];
        }
        x[i] /= gaussian->factor[i * ROWS_MAX + i];
    }
    /* The maximum-likelihood amplitude is values' (m + noise)^-1 values / n; if all values are 0,
     * any amplitude fits. */
    gaussian->amplitude = fit > 0 ? fit / (double)n : 1;
    gaussian->log_likelihood = -0.5 * (double)n * (log(gaussian->amplitude) + log(2 * M_PI)) -
                               logs - 0.5 * fit / gaussian->amplitude;
}

static bool factorize(struct gaussian *gaussian, const double *squares) {
    size_t n = gaussian->seen;
    for (size_t i = 0; i < n; i++) {
        double *row = gaussian->factor + i * ROWS_MAX;
        for (size_t k = 0; k < i; k++) {
            row[k] = matern(squares[i * n + k], gaussian->settings.length);
        }
        if (!factor_row(gaussian->factor, i, row, 1 + gaussian->settings.noise)) {
            return false;
        }
    }
    return true;
}

static struct gaussian *start(const struct gaussian_shape *shape, const double *points,
                              size_t count) {
    assert(count >= 1 && count <= GAUSSIAN_SEEN_MAX && shape->dimensions >= 1 &&
           shape->dimensions <= GAUSSIAN_DIMENSIONS_MAX);
    size_t dimensions = (size_t)shape->dimensions;
    struct gaussian *gaussian = x_calloc(1, sizeof *gaussian);
    gaussian->shape = *shape;
    gaussian->seen = gaussian->rows = count;
    gaussian->points = x_calloc(ROWS_MAX * dimensions, sizeof *gaussian->points);
    gaussian->factor = x_calloc((size_t)ROWS_MAX * ROWS_MAX, sizeof *gaussian->factor);
    gaussian->weights = x_calloc(count, sizeof *gaussian->weights);
    memcpy(gaussian->points, points, count * dimensions * sizeof *points);
    return gaussian;
}

/* [count, count]; the caller frees. */
static double *squares_of(const struct gaussian_shape *shape, const double *points, size_t count) {
    size_t dimensions = (size_t)shape->dimensions;
    double *squares = x_calloc(count * count, sizeof *squares);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            squares[i * count + k] =
                distance_square(shape, points + i * dimensions, points + k * dimensions);
        }
    }
    return squares;
}

static bool set(struct gaussian *gaussian, const double *squares, const double *values,
                struct gaussian_settings settings) {
    gaussian->settings = settings;
    if (!factorize(gaussian, squares)) {
        return false;
    }
    solve(gaussian, values);
    return true;
}

struct gaussian *gaussian_new(const struct gaussian_shape *shape, const double *points,
                              const double *values, size_t count,
                              struct gaussian_settings settings) {
    struct gaussian *gaussian = start(shape, points, count);
    double *squares = squares_of(shape, points, count);
    if (!set(gaussian, squares, values, settings)) {
        gaussian_free(gaussian);
        gaussian = NULL;
    }
    free(squares);
    return gaussian;
}

/* Geometric series; the last of each is always numerically stable. */
static struct gaussian_settings setting(const struct gaussian_shape *shape, int which) {
    static const double noises[NOISES] = {1e-6, 1e-4, 1e-3, 1e-2, 1e-1};
    double longest = 2.5 * sqrt(shape->dimensions);
    int length = which / NOISES; /* index 0 is the longest */
    return (struct gaussian_settings){longest * pow(0.02, length / (LENGTHS - 1.0)),
                                      noises[which % NOISES]};
}

struct gaussian *gaussian_fit(const struct gaussian_shape *shape, const double *points,
                              const double *values, size_t count) {
    struct gaussian *gaussian = start(shape, points, count);
    double *squares = squares_of(shape, points, count), most = -INFINITY;
    struct gaussian_settings best = setting(shape, LENGTHS * NOISES - 1);
    for (int which = 0; which < LENGTHS * NOISES; which++) {
        struct gaussian_settings tried = setting(shape, which);
        if (set(gaussian, squares, values, tried) && gaussian->log_likelihood > most) {
            most = gaussian->log_likelihood;
            best = tried;
        }
    }
    bool is_set = set(gaussian, squares, values, best);
    assert(is_set);
    (void)is_set;
    free(squares);
    return gaussian;
}

void gaussian_free(struct gaussian *gaussian) {
    if (gaussian) {
        free(gaussian->points);
        free(gaussian->factor);
        free(gaussian->weights);
        free(gaussian);
    }
}

void gaussian_freep(struct gaussian **gaussian) {
    gaussian_free(*gaussian);
    *gaussian = NULL;
}

double gaussian_amplitude(const struct gaussian *gaussian) {
    return gaussian->amplitude;
}

struct gaussian_settings gaussian_read_settings(const struct gaussian *gaussian) {
    return gaussian->settings;
}

double gaussian_log_likelihood(const struct gaussian *gaussian) {
    return gaussian->log_likelihood;
}

/* Covariances of a point with all rows. */
static void covariances(const struct gaussian *gaussian, const double *point, double *row) {
    for (size_t i = 0; i < gaussian->rows; i++) {
        const double *other = gaussian->points + i * (size_t)gaussian->shape.dimensions;
        row[i] = matern(distance_square(&gaussian->shape, point, other), gaussian->settings.length);
    }
}

/* An expected value equals its prediction, so its weight is 0 and the other weights stay. */
void gaussian_expect(struct gaussian *gaussian, const double *point) {
    if (gaussian->rows - gaussian->seen == GAUSSIAN_RUNNING_MAX) {
        return;
    }
    double *row = gaussian->factor + gaussian->rows * ROWS_MAX;
    covariances(gaussian, point, row);
    if (factor_row(gaussian->factor, gaussian->rows, row, 1 + gaussian->settings.noise)) {
        size_t dimensions = (size_t)gaussian->shape.dimensions;
        memcpy(gaussian->points + gaussian->rows * dimensions, point, dimensions * sizeof *point);
        gaussian->rows++;
    }
}

struct gaussian_belief gaussian_at(const struct gaussian *gaussian, const double *point) {
    double row[ROWS_MAX + 1], mean = 0;
    covariances(gaussian, point, row);
    for (size_t i = 0; i < gaussian->seen; i++) {
        mean += row[i] * gaussian->weights[i];
    }
    factor_row(gaussian->factor, gaussian->rows, row, 1);
    return (struct gaussian_belief){mean, sqrt(gaussian->amplitude) * row[gaussian->rows]};
}
