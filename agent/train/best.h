/* best.h: which epoch's network is the result of a training with an objective (spec.metrics). A
 * sweep judges a trial by the best of its reports, one per epoch, so the network with the best
 * value is published, not the last one. Pure.
 *
 * The metrics are those that a trainer reports: over an epoch's batches, while the weights change
 * (loss, trainAccuracy), or over the test data after the epoch (testLoss, accuracy). In both cases
 * the value belongs to the network after the epoch. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

enum best_metric {
    BEST_LOSS,
    BEST_TRAIN_ACCURACY,
    BEST_TEST_LOSS,
    BEST_ACCURACY,
    BEST_METRIC_COUNT
};
enum { BEST_NAME_MAX = 64 };

struct best_goal {
    int metric; /* an enum best_metric; -1: none; the last epoch's network is the result */
    bool is_minimized;
};

/* Stored in checkpoints as bytes. */
struct best {
    double value;
    int64_t epoch; /* from 1; 0: none yet */
    int64_t step;  /* steps done after it */
};

const char *best_metric_name(enum best_metric metric); /* its name in reports: "trainAccuracy" */

/* metrics: spec.metrics. NULL, no objective, or a metric that trainers do not report: no goal.
 * INVALID: its goal is neither Maximize nor Minimize. */
NODISCARD int best_goal_read(const json_t *metrics, struct best_goal *ret_goal, struct error *err);
/* Whether the value is better than all before. Equal values are not better, nor are values that the
 * hub does not accept as numbers (objective.h). */
bool best_is_beaten(const struct best *best, const struct best_goal *goal, double value);
/* The record's name in checkpoints, which differs for each metric and goal. */
void best_record_name(const struct best_goal *goal, char name[static BEST_NAME_MAX]);
/* Whether a stored record is plausible for this training, of which `step` steps are done. */
bool best_is_plausible(const struct best *best, int64_t step, int64_t epoch_steps);
