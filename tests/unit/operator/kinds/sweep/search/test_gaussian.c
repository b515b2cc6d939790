// SPDX-License-Identifier: Apache-2.0
/* A Gaussian process: its prediction at observations, far from them, and the expected improvement.
 * Against scikit-learn: tests/e2e/sweep/test_sweep_gp.sh, by this program's `posterior`, which
 * reads dimensions, choices (as one-hot columns' places), settings, observations and points, and
 * prints beliefs. */
#include "operator/kinds/sweep/search/gaussian.h"

#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static double number(void) {
    double value = NAN;
    if (scanf("%lf", &value) != 1) {
        fprintf(stderr, "test_gaussian posterior: a number is missing\n");
        exit(2);
    }
    return value;
}

static double *numbers(size_t count) {
    double *list = x_calloc(count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[i] = number();
    }
    return list;
}

/* stdin: dimensions, is_choice of each, length, noise, count, points, values, asked, points.
 * stdout: amplitude and log likelihood, then a mean and a deviation a line. */
static int posterior(void) {
    struct gaussian_shape shape = {.dimensions = (int)number()};
    for (int i = 0; i < shape.dimensions; i++) {
        shape.is_choice[i] = number() != 0;
    }
    double length = number(), noise = number();
    size_t count = (size_t)number(), dimensions = (size_t)shape.dimensions;
    double *points = numbers(count * dimensions), *values = numbers(count);
    struct gaussian_settings settings = {length, noise};
    AUTO(gaussian_freep)
    struct gaussian *gaussian = gaussian_new(&shape, points, values, count, settings);
    size_t asked = (size_t)number();
    double *places = numbers(asked * dimensions);
    printf("%.17g %.17g\n", gaussian_amplitude(gaussian), gaussian_log_likelihood(gaussian));
    for (size_t i = 0; i < asked; i++) {
        struct gaussian_belief belief = gaussian_at(gaussian, places + i * dimensions);
        printf("%.17g %.17g\n", belief.mean, belief.deviation);
    }
    free(points);
    free(values);
    free(places);
    return 0;
}

static const struct gaussian_shape line = {.dimensions = 1};

static void test_what_was_seen_is_believed(void) {
    static const double points[] = {0.1, 0.4, 0.9}, values[] = {1, -2, 0.5};
    AUTO(gaussian_freep)
    struct gaussian *gaussian =
        gaussian_new(&line, points, values, 3, (struct gaussian_settings){0.2, 1e-9});
    for (int i = 0; i < 3; i++) {
        struct gaussian_belief belief = gaussian_at(gaussian, &points[i]);
        CHECK(fabs(belief.mean - values[i]) < 1e-6 && belief.deviation < 1e-3);
    }
    double far = 100, deviation = sqrt(gaussian_amplitude(gaussian));
    struct gaussian_belief belief = gaussian_at(gaussian, &far);
    CHECK(fabs(belief.mean) < 1e-12 && fabs(belief.deviation - deviation) < 1e-12);
}

static void test_what_is_expected_changes_no_mean(void) {
    static const double points[] = {0.1, 0.4, 0.9}, values[] = {1, -2, 0.5};
    AUTO(gaussian_freep)
    struct gaussian *before =
        gaussian_new(&line, points, values, 3, (struct gaussian_settings){0.3, 1e-3});
    AUTO(gaussian_freep)
    struct gaussian *after =
        gaussian_new(&line, points, values, 3, (struct gaussian_settings){0.3, 1e-3});
    double expected = 0.65;
    gaussian_expect(after, &expected);
    for (double at = 0; at <= 1; at += 0.05) {
        struct gaussian_belief a = gaussian_at(before, &at), b = gaussian_at(after, &at);
        CHECK(fabs(a.mean - b.mean) < 1e-12 && b.deviation <= a.deviation + 1e-12);
    }
    /* The same as an observation of the predicted value, with the same amplitude. */
    double all[] = {0.1, 0.4, 0.9, 0.65},
           known[] = {1, -2, 0.5, gaussian_at(before, &expected).mean};
    AUTO(gaussian_freep)
    struct gaussian *told =
        gaussian_new(&line, all, known, 4, (struct gaussian_settings){0.3, 1e-3});
    double scale = sqrt(gaussian_amplitude(after) / gaussian_amplitude(told));
    for (double at = 0; at <= 1; at += 0.05) {
        struct gaussian_belief a = gaussian_at(after, &at), b = gaussian_at(told, &at);
        CHECK(fabs(a.mean - b.mean) < 1e-9 && fabs(a.deviation - b.deviation * scale) < 1e-9);
    }
    CHECK(gaussian_at(after, &expected).deviation < 0.1 * gaussian_at(before, &expected).deviation);
}

static void test_expectations_have_a_bound(void) {
    double zero = 0;
    AUTO(gaussian_freep)
    struct gaussian *gaussian =
        gaussian_new(&line, &zero, &zero, 1, (struct gaussian_settings){0.01, 0.1});
    for (int i = 0; i < GAUSSIAN_RUNNING_MAX + 10; i++) {
        double at = i / 10.0;
        gaussian_expect(gaussian, &at);
    }
    double last = (GAUSSIAN_RUNNING_MAX - 1) / 10.0, beyond = last + 0.5;
    CHECK(gaussian_at(gaussian, &last).deviation < 0.5);
    CHECK(gaussian_at(gaussian, &beyond).deviation > 0.9);
}

static void test_twins_without_noise_cannot_be(void) {
    static const double points[] = {0.5, 0.5}, values[] = {1, 2};
    CHECK(!gaussian_new(&line, points, values, 2, (struct gaussian_settings){0.3, 0}));
    AUTO(gaussian_freep) struct gaussian *fit = gaussian_fit(&line, points, values, 2);
    CHECK(fit && isfinite(gaussian_at(fit, points).mean));
}

/* For a function drawn from a process of that length and noise, settings near it are likeliest. */
static void test_settings_are_found_again(void) {
    enum { COUNT = 100 };
    uint64_t state = test_seed(5);
    double points[COUNT], values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        points[i] = (double)test_below(&state, 1000000) / 1e6;
        values[i] = sin(8 * points[i]) + 0.1 * ((double)test_below(&state, 2001) / 1000 - 1);
    }
    AUTO(gaussian_freep) struct gaussian *rough = gaussian_fit(&line, points, values, COUNT);
    CHECK(gaussian_read_settings(rough).length > 0.2 &&
          gaussian_read_settings(rough).noise >= 1e-4);
    for (int i = 0; i < COUNT; i++) {
        values[i] = sin(40 * points[i]);
    }
    AUTO(gaussian_freep) struct gaussian *smooth = gaussian_fit(&line, points, values, COUNT);
    CHECK(gaussian_read_settings(smooth).length < gaussian_read_settings(rough).length &&
          gaussian_read_settings(smooth).noise <= 1e-4);
}

/* All values equal, and all points equal: no result is NaN. */
static void test_nothing_to_learn(void) {
    static const double points[] = {0.5, 0.5, 0.5}, values[] = {0, 0, 0};
    AUTO(gaussian_freep) struct gaussian *fit = gaussian_fit(&line, points, values, 3);
    struct gaussian_belief belief = gaussian_at(fit, points);
    CHECK(belief.mean == 0 && isfinite(belief.deviation));
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "posterior") == 0) {
        return posterior();
    }
    TEST(test_what_was_seen_is_believed);
    TEST(test_what_is_expected_changes_no_mean);
    TEST(test_expectations_have_a_bound);
    TEST(test_twins_without_noise_cannot_be);
    TEST(test_settings_are_found_again);
    TEST(test_nothing_to_learn);
    return TEST_END();
}
