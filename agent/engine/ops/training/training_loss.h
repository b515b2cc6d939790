/* training_loss.h: losses as formulas of ordinary operators, so that their gradients are made as
 * those of the network. */
#pragma once

#include "agent/engine/graph/builder.h"
#include "agent/engine/training_graph.h"

/* Binary cross entropy of logits, or Huber's: the sum over samples of the mean over a sample's
 * elements, times scale. Returns the loss, one number. */
int training_loss_add(struct builder *builder, enum training_loss loss, int y, int target,
                      int scale);
