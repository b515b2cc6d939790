/* rate.h: the learning rate of each step. PURE. In the spec:
 *
 *   schedule: {kind: Constant | Step | Cosine, warmupEpochs: 1, scaling: None | Linear,
 *              baseBatchSize: 256, stepEpochs: [30, 60, 80], stepFactor: "0.1"}
 *
 * Linear: learningRate is meant for baseBatchSize and grows with the batch (Goyal et al.,
 * "Accurate, Large Minibatch SGD", 2017). During the warm-up the rate rises in equal steps to the
 * full rate. Step: at the beginning of each of stepEpochs the rate is multiplied by stepFactor.
 * Cosine: after the warm-up the rate falls to 0 along half a cosine (Loshchilov, Hutter, "SGDR",
 * 2017). */
#pragma once

#include "lib/error.h"

#include <jansson.h>

enum rate_kind { RATE_CONSTANT, RATE_STEP, RATE_COSINE };
enum { RATE_STEPS_MAX = 32, EPOCHS_MAX = 1 << 20 };

struct rate {
    enum rate_kind kind;
    double full; /* scaled */
    int64_t warmup_steps, total_steps;
    double factor;                      /* RATE_STEP */
    size_t count;                       /* of fall_steps */
    int64_t fall_steps[RATE_STEPS_MAX]; /* rising */
};

struct rate_options {
    double learning_rate;
    int64_t batch_size;  /* of the gang */
    int64_t epoch_steps; /* at least 1 */
    int64_t epochs;      /* at least 1 */
};

/* schedule: the object of the spec; NULL: Constant. INVALID names the field. */
NODISCARD int rate_read(const json_t *schedule, const struct rate_options *options,
                        struct rate *ret_rate, struct error *err);
/* step: 0..total_steps - 1; later ones have the last rate. */
double rate_at(const struct rate *rate, int64_t step);
