/* training_loss.h: the nodes of a loss: one internal operator, or, for those that have none, a
 * formula of ordinary operators, so that its gradient is made as those of the network. */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/training_graph.h"

/* Of one output of the network. */
struct loss_values {
    int loss, correct; /* correct -1: there is none */
};

/* inputs: y (logits of classes), target, scale. The loss is one number: the sum over samples, or
 * places, times scale; of a sample's numbers the mean counts. */
struct loss_values training_loss_add(struct builder *builder,
                                     const struct training_options *options,
                                     const int inputs[static 3]);
/* a + b, of two losses. */
int training_loss_sum(struct builder *builder, int a, int b);
