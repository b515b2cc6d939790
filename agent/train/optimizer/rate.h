/* rate.h: the learning rate of each step. Pure. In the spec (crds/disttrain.yaml has the bounds and
 * defaults):
 *
 *   schedule: {kind: Constant | Step | Cosine | Linear | CosineRestarts | OneCycle,
 *              warmupEpochs: 1, scaling: None | Linear, baseBatchSize: 256,
 *              stepEpochs: [30, 60, 80], stepFactor: "0.1", endFactor: "0.01",
 *              restartEpochs: 10, restartFactor: 2}
 *
 * endFactor (absent: 0) and restartFactor (absent: 1) may be absent; E is endFactor times the full
 * rate.
 * scaling: Linear: learningRate is meant for baseBatchSize and grows with the batch (Goyal et al.,
 * "Accurate, Large Minibatch SGD", 2017). During the warm-up the rate rises in equal steps to the
 * full rate. kind: Step: at the beginning of each of stepEpochs the rate is multiplied by
 * stepFactor. Cosine: after the warm-up the rate falls to E along half a cosine (Loshchilov,
 * Hutter, "SGDR", 2017). Linear: it falls to E along a line. CosineRestarts: it falls to E along
 * half a cosine in restartEpochs, begins anew, and each such period is restartFactor times as long
 * as the one before (SGDR). OneCycle: along half cosines it rises from 1/25 of the full rate, in
 * 0.3 of the steps, and falls to 1/25 of 1/10000 of it (Smith, Topin, "Super-Convergence", 2019;
 * PyTorch's OneCycleLR). All by steps of the whole gang, so the number of workers does not matter.
 */
#pragma once

#include "lib/error.h"

#include <jansson.h>

enum rate_kind {
    RATE_CONSTANT,
    RATE_STEP,
    RATE_COSINE,
    RATE_LINEAR,
    RATE_RESTARTS,
    RATE_ONE_CYCLE
};
enum { RESTART_FACTOR_MAX = 16 };
enum { RATE_STEPS_MAX = 32, EPOCHS_MAX = 1 << 20, BATCH_MAX = 1 << 20 };

struct rate {
    enum rate_kind kind;
    double full; /* scaled */
    int64_t warmup_steps, total_steps;
    double factor; /* RATE_STEP */
    double end;    /* endFactor */
    int64_t restart_steps, restart_factor;
    size_t count;                       /* of fall_steps */
    int64_t fall_steps[RATE_STEPS_MAX]; /* rising */
};

struct rate_options {
    double learning_rate;
    int64_t batch_size;  /* of the gang */
    int64_t epoch_steps; /* at least 1 */
    int64_t epochs;      /* at least 1 */
};

/* schedule: the object of the spec. INVALID names a field that is missing or wrong. */
NODISCARD int rate_read(const json_t *schedule, const struct rate_options *options,
                        struct rate *ret_rate, struct error *err);
/* step: 0..total_steps - 1; later ones have the last rate. */
double rate_at(const struct rate *rate, int64_t step);
