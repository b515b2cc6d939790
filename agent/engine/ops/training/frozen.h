/* frozen.h: tensors of PyTorch's modules that are initializers of a file as parameters are, and
 * which PyTorch does not train. Used by forms.c. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"
#include "agent/engine/training_graph.h"

/* Whether a BatchNormalization uses its running statistics, and not those of its batch. */
bool frozen_norm(const struct node *node);
/* Makes literals (value.is_literal) of
 * - the statistics of norms that were in eval() in a file with others in train(): these norms are
 *   added to `kept`;
 * - u and v of spectral_norm, by their names;
 * - running_mean and running_var that a formula reads, as torchvision's FrozenBatchNorm2d does. */
void frozen_mark(struct graph *network, struct forms_list *kept);
