/* loss.h: shapes of ONNX's losses (internal.h). */
#pragma once

#include "agent/engine/graph/node.h"
#include "agent/engine/loss.h"
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
/* Of an elementwise node of a loss: its inputs, output and target, must pass loss_check_target. */
#define ATTRIBUTE_ALIKE "alike"
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
NODISCARD int infer_likelihood_loss(const struct node *node, const struct fact *const *inputs,
                                    struct fact *outputs, struct error *err);
