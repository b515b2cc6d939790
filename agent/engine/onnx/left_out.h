/* left_out.h: a note for people about a model: outputs of classical models that the engine
 * does not support (lists of maps, strings), which are left out if useful outputs remain; and
 * BatchNormalization in training mode. Used by graph_proto.c.
 *
 * ZipMap turns a classifier's scores into a list of maps, one per row: its input replaces it as
 * output, with one column per class. An output of strings (a classifier's label; string_values.h)
 * is removed from the graph. A model without other outputs is refused, with a message that says how
 * to export it differently. */
#pragma once

#include "agent/engine/graph.h"

enum { LEFT_OUT_NOTE_MAX = 1000 };

struct left_out {
    char note[LEFT_OUT_NOTE_MAX]; /* "": nothing was left out; else a line without a newline */
};

/* Handles a node after its inputs, outputs and attributes were read. */
void left_out_node(struct left_out *out, const struct graph *graph, const struct node *node);
/* Whether this value of the graph's outputs is left out. */
bool left_out_output(struct left_out *out, const struct graph *graph, int value);
/* The error if all outputs are left out. Returns -1. */
int left_out_all(struct error *err);
