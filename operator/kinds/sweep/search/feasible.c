// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/feasible.h"

#include "operator/kinds/sweep/search/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The variance of a label: without it a point between two labels would be certain to succeed. */
#define LABEL_VARIANCE 0.1

bool feasible_has_failed(const struct bayes_trial *trial) {
    return !trial->is_running && trial->has_failed;
}

bool feasible_is_known(const struct bayes_trial *trial) {
    return !trial->is_running && !trial->has_failed && isfinite(trial->score);
}

/* The labels of trials as observations. */
struct labels {
    size_t count, dimensions;
    double *points; /* [GAUSSIAN_SEEN_MAX, dimensions] */
    double values[GAUSSIAN_SEEN_MAX];
};

/* Adds the newest trials of one sort, at most `room`. */
static void add(struct labels *labels, const struct bayes_trial *trials, size_t count, bool failed,
                size_t room) {
    for (size_t i = count; i-- > 0 && room > 0;) {
        if (failed ? feasible_has_failed(&trials[i]) : feasible_is_known(&trials[i])) {
            memcpy(labels->points + labels->count * labels->dimensions, trials[i].units,
                   labels->dimensions * sizeof *labels->points);
            labels->values[labels->count++] = failed ? -1 : 1;
            room--;
        }
    }
}

struct gaussian *feasible_fit(const struct gaussian_shape *shape, const struct bayes_trial *trials,
                              size_t count) {
    size_t failed = 0, known = 0, half = GAUSSIAN_SEEN_MAX / 2;
    for (size_t i = 0; i < count; i++) {
        failed += feasible_has_failed(&trials[i]);
        known += feasible_is_known(&trials[i]);
    }
    if (failed == 0 || known == 0) {
        return NULL;
    }
    struct labels labels = {.dimensions = (size_t)shape->dimensions};
    labels.points = x_calloc(GAUSSIAN_SEEN_MAX * labels.dimensions, sizeof *labels.points);
    add(&labels, trials, count, true, GAUSSIAN_SEEN_MAX - MIN(known, half));
    add(&labels, trials, count, false, GAUSSIAN_SEEN_MAX - MIN(failed, half));
    struct gaussian *model = gaussian_fit(shape, labels.points, labels.values, labels.count);
    for (size_t i = 0; i < count; i++) {
        if (trials[i].is_running) {
            gaussian_expect(model, trials[i].units);
        }
    }
    free(labels.points);
    return model;
}

double feasible_at(const struct gaussian *model, const double *units) {
    if (!model) {
        return 1;
    }
    struct gaussian_belief belief = gaussian_at(model, units);
    double variance = belief.deviation * belief.deviation + LABEL_VARIANCE;
    return normal_below(belief.mean / sqrt(variance));
}
