/* host_loss.h: the loss over test data, from the network's outputs in host memory: the same
 * formulas as in training, in double precision, without label smoothing. */
#pragma once

#include "agent/train/loss/criterion.h"

/* Sums over samples, or places of samples, that count. */
struct host_loss_sums {
    double loss, weight; /* the mean is loss / weight */
    int64_t correct, samples, bad;
};

/* What a batch's output is compared with. */
struct host_loss_batch {
    const struct criterion *settings;
    struct criterion_labels labels; /* of classes; labels.labels NULL: numbers */
    struct shape target;            /* the shape of the labels, or of the numbers */
    const float *numbers;
    const bool *is_bad; /* by sample: it does not count; NULL: all do */
    enum training_ending ending;
};

/* Whether classes could be in axis 1 of the scores, and in the last one. */
bool host_loss_fits_both(const struct shape *scores, const struct shape *labels);
/* `output` is the network's, in host memory. ERROR_INVALID: shapes or labels do not fit. */
NODISCARD int host_loss_add(const struct host_loss_batch *batch, const struct tensor *output,
                            struct host_loss_sums *sums, struct error *err);
