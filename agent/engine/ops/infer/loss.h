/* loss.h: shapes of losses: ONNX's, and what those of the trainer read (internal.h). */
#pragma once

#include "agent/engine/graph/node.h"
#include "agent/engine/training_graph.h"

enum likelihood_reduction { LIKELIHOOD_MEAN, LIKELIHOOD_SUM, LIKELIHOOD_NONE };

/* x is [samples, classes, places], with one label per sample and place. */
struct likelihood {
    int64_t samples, classes, places;
    enum likelihood_reduction reduction;
    bool has_ignored; /* places with the label `ignored` do not count */
    int64_t ignored;
};
NODISCARD int likelihood_params(const struct node *node, const struct shape *x,
                                struct likelihood *ret_likelihood, struct error *err);
/* Scores of a cross entropy, one class for each place (a pixel, a token) of each
 * sample: [samples, classes, places...] as PyTorch has them, or, if only that fits the labels
 * [samples, places...], [samples, places..., classes]. */
struct label_places {
    int64_t samples, places, classes;
    int64_t place_step, class_step; /* in the scores, in elements */
    bool fits_both;                 /* the last axis would have fitted, too */
};
/* ERROR_INVALID names both shapes. */
NODISCARD int loss_places(const struct shape *scores, const struct shape *labels,
                          struct label_places *ret_places, struct error *err);
/* ERROR_INVALID, with both shapes: they are not the same, or not of samples. A loss of numbers must
 * not broadcast: each output would be pulled to the targets of others. */
NODISCARD int loss_check_target(const struct shape *output, const struct shape *target,
                                struct error *err);
/* Of an elementwise node of a loss: its inputs, output and target, must pass loss_check_target. */
#define ATTRIBUTE_ALIKE "alike"
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
NODISCARD int infer_likelihood_loss(const struct node *node, const struct fact *const *inputs,
                                    struct fact *outputs, struct error *err);
