/* left_out.h: what a classical model's file may give out and the engine does not: lists of maps,
 * and texts. Both are left out where that leaves something of use, and that is said once, for
 * people. Used by graph_proto.c.
 *
 * ZipMap makes a list of maps of a classifier's scores, one a row: its input is given in its place,
 * a column a class. An output of texts (a classifier's label; text_values.h) is not one of the
 * graph, and a model that has no other is refused with the sentence that says how to export it
 * otherwise. */
#pragma once

#include "agent/engine/graph.h"

enum { LEFT_OUT_NOTE_MAX = 1000 };

struct left_out {
    char note[LEFT_OUT_NOTE_MAX]; /* "" nothing was left out; a line without its end */
};

/* Of a node whose inputs, outputs and attributes are read. */
void left_out_node(struct left_out *out, const struct graph *graph, const struct node *node);
/* Whether this value of the graph's outputs is left out. */
bool left_out_output(struct left_out *out, const struct graph *graph, int value);
/* When all outputs are left out. Returns -1. */
int left_out_all(struct error *err);
