/* best.h: which epoch's network is the result of a training that is tuned for a metric
 * (spec.metrics). A sweep judges a trial by the best of its reports, one an epoch; so what is
 * published is the network that had it, and not the last one. Pure.
 *
 * The metrics are those that a trainer reports: of an epoch's batches (loss, trainAccuracy), while
 * the weights move, or of the test data by the network as it is behind the epoch (testLoss,
 * accuracy). It is the network behind the epoch in both cases. */
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
    int metric; /* an enum best_metric; -1: none of them, the last epoch's network is the result */
    bool is_minimized;
};

/* As it stands in checkpoints, byte by byte. */
struct best {
    double value;
    int64_t epoch; /* from 1; 0: none yet */
    int64_t step;  /* steps done behind it */
};

const char *best_metric_name(enum best_metric metric); /* as it is reported: "trainAccuracy" */

/* metrics: spec.metrics; NULL, without an objective, or of a metric that the program of a command
 * may say: none. INVALID: its goal is neither Maximize nor Minimize. */
NODISCARD int best_goal_read(const json_t *metrics, struct best_goal *ret_goal, struct error *err);
/* Whether that value is better than all before: a tie is not, and what the hub takes for no number
 * (agent/launch/objective.h) never is. */
bool best_is_beaten(const struct best *best, const struct best_goal *goal, double value);
/* What a checkpoint calls it: of another metric or goal it is another's. */
void best_record_name(const struct best_goal *goal, char name[static BEST_NAME_MAX]);
/* Whether a record can be of this training, of which `step` steps are done. */
bool best_is_sound(const struct best *best, int64_t step, int64_t epoch_steps);
