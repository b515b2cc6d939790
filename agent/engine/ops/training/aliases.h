/* aliases.h: tensors that PyTorch's exporter has written once because they were equal. Used by
 * forms.c. */
#pragma once

#include "agent/engine/graph.h"

/* Copies the network. Each Identity of a constant all of whose elements are one number, or which is
 * a statistic of a norm, becomes a constant of its own, so that it can be trained. Other Identities
 * of constants are tied weights, and stay. Values keep their indices. `network` must outlive
 * *ret_graph (graph_release). */
void aliases_resolve(const struct graph *network, struct graph *ret_graph);
