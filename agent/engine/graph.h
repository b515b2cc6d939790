/* graph.h: a network as a directed graph, independent of the file format: values (tensors) and
 * nodes (operations). All data is in one arena, which graph_release frees. Implemented in
 * graph/; onnx/ and graph/builder.h build graphs. A finished graph is not changed, except that
 * constants may be evicted from memory and read again (graph/resident.h). */
#pragma once

#include "agent/engine/tensor.h"
#include "lib/arena.h"

struct node;         /* one operation; private to the engine (graph/node.h) */
struct string_table; /* the strings of a classical model; session.h reads them */

/* Limits. Preparing a network takes quadratic time in the number of nodes at worst: about two
 * seconds for GRAPH_NODES_MAX. */
enum { GRAPH_VALUES_MAX = 1 << 17, GRAPH_NODES_MAX = 1 << 15 };

/* A tensor of the network: an input, a constant, or the output of one node. */
struct value {
    const char *name;      /* unique in the graph */
    enum tensor_type type; /* only for inputs and constants */
    struct shape shape;    /* only for inputs and constants; -1: any size */
    bool has_shape;        /* false: any rank is allowed */
    bool is_input;
    bool is_constant;
    bool is_literal; /* a constant that the file has as a Constant node, not as an initializer */
    bool is_string;  /* strings: int64 indices in graph->strings; -1: a string that is not in the
                        table */
    bool is_list;    /* declared as a sequence or an optional; only in bodies, and outputs */
    struct tensor
        constant;       /* if is_constant; its data is in the model's file or the graph's arena */
    const void *origin; /* where the file's bytes contain the constant; NULL: nowhere */
    bool is_pinned, is_evicted, has_sum; /* private to graph/resident.c */
    uint64_t sum;                        /* private to graph/resident.c */
};

struct graph {
    struct arena arena;
    size_t value_count, node_count, input_count, output_count;
    struct value *values;
    struct node *nodes; /* in topological order: each after the nodes whose outputs it reads */
    int *inputs;        /* indices into values; without constants */
    int *outputs;       /* indices into values */
    struct string_table
        *strings; /* graph/string_table.h; only for graphs that were read from a file; NULL: none */
    bool is_of_file; /* origins point into the bytes of a struct resident_file */
    bool may_evict;  /* constants may be evicted: graph/resident.h */
};

/* Frees the arena; the graph is empty afterwards. */
void graph_release(struct graph *graph);

/* The operator of node `index` (0 to node_count - 1) by its name in ONNX, such as "Conv"; static.
 */
const char *graph_operator(const struct graph *graph, size_t index);

/* Checks what a caller gives as an input. INVALID names the input, its type and shape, and those
 * that the graph declares. */
NODISCARD int graph_check_input(const struct value *value, const struct tensor *input,
                                struct error *err);

/* Returns the memory of constant `value` to the system, as far as it fills whole pages. Its data
 * must not be read any more. */
void graph_drop_constant(struct graph *graph, int value);
