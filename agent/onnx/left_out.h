/* left_out.h: what a classical model's file may hold and the engine has not: lists of maps, and
 * texts. Both are left out where that leaves something of use, and that is said once, for people.
 * Used by graph_proto.c.
 *
 * ZipMap makes a list of maps of a classifier's scores, one a row: its input is given in its place,
 * a column a class. A classifier whose labels are texts gives scores; its label output is no output
 * of the graph, and a model that has no other, or reads it, is refused with the sentence that says
 * how to export it otherwise. */
#pragma once

#include "agent/graph/graph.h"

enum { LEFT_OUT_NOTE_MAX = 1000 };

struct left_out {
    bool *is_text;                /* by value: it would be texts; the graph's arena's */
    char note[LEFT_OUT_NOTE_MAX]; /* "" nothing was left out; a line without its end */
};

void left_out_init(struct left_out *out, struct graph *graph, size_t value_room);
/* Of a node whose inputs, outputs and attributes are read. ERROR_UNSUPPORTED: it reads texts. */
NODISCARD int left_out_node(struct left_out *out, const struct graph *graph,
                            const struct node *node, struct error *err);
/* Whether this value of the graph's outputs is left out. */
bool left_out_output(struct left_out *out, const struct graph *graph, int value);
/* When all outputs are left out. Returns -1. */
int left_out_all(struct error *err);
