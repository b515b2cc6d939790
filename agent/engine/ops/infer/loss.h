/* loss.h: ONNX's own losses (those that training is made of are internal.h's). */
#pragma once

#include "agent/engine/graph.h"

enum likelihood_reduction { LIKELIHOOD_MEAN, LIKELIHOOD_SUM, LIKELIHOOD_NONE };

/* x is [samples, classes, places]; of each sample and place one label. */
struct likelihood {
    int64_t samples, classes, places;
    enum likelihood_reduction reduction;
    bool has_ignored; /* labels of `ignored` count nothing */
    int64_t ignored;
};
NODISCARD int likelihood_params(const struct node *node, const struct shape *x,
                                struct likelihood *ret_likelihood, struct error *err);
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
NODISCARD int infer_likelihood_loss(const struct node *node, const struct fact *const *inputs,
                                    struct fact *outputs, struct error *err);
