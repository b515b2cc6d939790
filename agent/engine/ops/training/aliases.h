/* aliases.h: tensors that PyTorch's exporter has written once because they were equal. Used by
 * forms.c. */
#pragma once

#include "agent/engine/training_graph.h"

/* Adds a name, which is borrowed, to a list in that arena. */
void aliases_note(struct arena *arena, struct forms_list *list, const char *name);

/* Copies the network. Each Identity of a constant all of whose elements are one number, or which is
 * a statistic of a norm, becomes a constant of its own, so that it can be trained. Other Identities
 * of constants are tied weights, and stay. A constant that the exporter has made by transposing
 * another one that is read as well becomes a Transpose of it. Adds to `tied` and `computed` of
 * *forms. Values keep their indices. `network` must outlive *ret_graph (graph_release). */
void aliases_resolve(const struct graph *network, struct forms *forms, struct graph *ret_graph);
