/* graph.h: a network as values and nodes, whatever file it came from. Plain data in one arena;
 * built by agent/engine/onnx, read by everyone, never changed afterwards (but for what resident.h
 * does).
 */
#pragma once

#include "agent/engine/graph/arena.h"
#include "agent/engine/graph/op.h"

/* Preparing is quadratic in the nodes at worst: this many take about two seconds. */
enum { GRAPH_VALUES_MAX = 1 << 17, GRAPH_NODES_MAX = 1 << 15, NODE_PORTS_MAX = 4096 };

struct value {
    const char *name;
    enum tensor_type type; /* declared; meaningful for inputs and constants */
    struct shape shape;    /* declared; -1 where any size is allowed */
    bool has_shape;        /* false: not declared, any rank is allowed */
    bool is_input;
    bool is_constant;
    bool is_text;                   /* int64: numbers of graph->texts, -1: none of them */
    struct tensor constant;         /* borrowed from the model's bytes or the graph's arena */
    const void *origin;             /* where the file has the constant's bytes; NULL: nowhere */
    bool is_held, is_gone, has_sum; /* resident.h's */
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
    void *made; /* what its operator has made of them when the file was read, once for all plans
                   (engine/ops/ml/ml.h); the arena of that graph ends it. NULL: nothing */
};

struct graph {
    struct arena arena;
    size_t value_count, node_count, input_count, output_count;
    struct value *values;
    struct node *nodes; /* each after the nodes it reads from */
    int *inputs;        /* indices into values; without constants */
    int *outputs;
    struct texts *texts; /* texts.h; NULL: none. What is made of this graph has it not */
    bool is_of_file;     /* constants' origins are bytes of a struct resident_file */
    bool lets_go;        /* resident.h */
};

void graph_release(struct graph *graph);

/* A constant has been copied and nothing reads it again: the system gets its whole pages back. */
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
