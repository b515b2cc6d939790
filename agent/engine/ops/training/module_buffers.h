/* module_buffers.h: tensors that look like buffers of a PyTorch module. A file by the exporter that
 * traces modules has these as it has parameters, and does not say which is which. Used by
 * forms.c. */
#pragma once

#include "agent/engine/training_graph.h"

/* Adds to the list the names of tensors that a module hardly learns: by the numbers (whole ones,
 * masks, sines and cosines of positions, grids, progressions, windows, the same part several times)
 * or by a usual name of buffers ("pixel_mean"). They may be parameters all the same. A buffer that
 * was drawn at random looks like a weight. The names are borrowed; the list is in the network's
 * arena. */
void module_buffers_note(struct graph *network, struct forms_list *list);
