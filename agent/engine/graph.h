/* graph.h: a network as values and nodes, independent of the file format. Plain data in one arena.
 * agent/engine/onnx and builder.h build graphs; a finished graph is not changed, except by
 * resident.h. */
#pragma once

#include "agent/engine/graph/arena.h"
#include "agent/engine/graph/node.h"

/* Preparing takes quadratic time in the number of nodes at worst: about two seconds for the
 * maximum. */
enum { GRAPH_VALUES_MAX = 1 << 17, GRAPH_NODES_MAX = 1 << 15 };

struct value {
    const char *name;
    enum tensor_type type; /* declared; meaningful for inputs and constants */
    struct shape shape;    /* declared; -1 where any size is allowed */
    bool has_shape;        /* false: not declared, any rank is allowed */
    bool is_input;
    bool is_constant;
    bool is_text; /* int64: indices of graph->texts; -1: a text that the model does not have */
    struct tensor constant; /* borrowed from the model's bytes or the graph's arena */
    const void *origin; /* address of the constant's bytes in the file's bytes; NULL: they are not
                           in the file */
    bool is_held, is_gone, has_sum; /* for resident.h */
    uint64_t sum;
};

struct graph {
    struct arena arena;
    size_t value_count, node_count, input_count, output_count;
    struct value *values;
    struct node *nodes; /* each after the nodes it reads from */
    int *inputs;        /* indices into values; without constants */
    int *outputs;
    struct texts *texts; /* texts.h; NULL: none. Derived graphs do not have it */
    bool is_of_file;     /* constants' origins point into the bytes of a struct resident_file */
    bool lets_go;        /* resident.h */
};

void graph_release(struct graph *graph);

/* For a constant that has been copied and that nothing reads again: returns its whole pages to the
 * system. */
void graph_drop_constant(const struct graph *graph, int value);
