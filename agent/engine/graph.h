/* graph.h: a network as values and nodes, independent of the file format. Plain data in one arena.
 * agent/engine/onnx and builder.h build graphs; a finished graph is not changed, except by
 * resident.h. */
#pragma once

#include "agent/engine/graph/arena.h"
#include "agent/engine/graph/op.h"

/* Preparing takes quadratic time in the number of nodes at worst: about two seconds for the
 * maximum. */
enum { GRAPH_VALUES_MAX = 1 << 17, GRAPH_NODES_MAX = 1 << 15, NODE_PORTS_MAX = 4096 };

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

struct node {
    const struct op *op;
    const char *name; /* the file's, else that of its first output */
    int opset;        /* the model's version of the standard operators */
    int input_count, output_count;
    const int *inputs; /* indices into graph->values; -1: optional and absent */
    const int *outputs;
    size_t attribute_count;
    const struct attribute *attributes;
    void *made; /* what the operator compiled from the attributes when the file was read, for all
                   plans (engine/ops/ml/ml.h); released with that graph's arena. NULL: nothing */
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

/* The node's attribute, or NULL. */
const struct attribute *node_attribute(const struct node *node, const char *name);
int64_t node_integer(const struct node *node, const char *name, int64_t fallback);
float node_number(const struct node *node, const char *name, float fallback);
const char *node_text(const struct node *node, const char *name, const char *fallback);
/* NULL and *ret_count 0 when absent. */
const int64_t *node_integers(const struct node *node, const char *name, size_t *ret_count);

/* Checks arity and attributes against the node's op. Fails with ERROR_INVALID (arity, kind of an
 * attribute) or ERROR_UNSUPPORTED (unknown attribute or value), naming node and attribute. */
NODISCARD int node_check(const struct node *node, struct error *err);
