/* criterion.h: the fields of a loss in the spec (spec.trainer.loss and those that belong to
 * it), and by how much the samples of a batch count. */
#pragma once

#include "agent/engine/training_graph.h"
#include "lib/error.h"

#include <jansson.h>

struct criterion {
    enum training_loss loss;
    float smoothing;
    int64_t blank;        /* of CTC */
    float *class_weights; /* of cross entropy; NULL: none */
    size_t class_count;   /* of these */
};

/* ERROR_INVALID names the field: it is missing, wrong, or belongs to another loss. The caller
 * releases *ret_settings. */
NODISCARD int criterion_read(const json_t *spec, struct criterion *ret_settings, struct error *err);
void criterion_release(struct criterion *settings);

/* Labels of `samples` samples, `places` each. */
struct criterion_labels {
    int64_t samples, places;
    const int64_t *labels;
    bool has_ignored; /* places with the label `ignored` do not count */
    int64_t ignored;
};
/* Whether a batch counts by its labels: not by the number of its places that count. */
bool criterion_weighs(const struct criterion *settings);
/* How much a batch counts. */
struct criterion_count {
    double weight; /* the loss is the sum over the batch, divided by this */
    double places; /* the accuracy is the number of correct ones, divided by this */
};
/* Of a batch that counts by its labels: the sum of their weights, and how many count; for CTC both
 * are the number of samples. */
struct criterion_count criterion_count_batch(const struct criterion *settings,
                                             const struct criterion_labels *labels);
