/* builder.h: builds a graph in memory, often as a copy of another graph with further nodes. Values
 * keep their indices. New nodes read only values that exist, so nodes are always in topological
 * order. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/graph/node.h"

/* New nodes are of this version of the standard. */
enum { BUILDER_OPSET = 13 };

struct builder {
    struct graph graph; /* the graph so far; owned by the builder until builder_take */
    size_t value_room, node_room, input_room, output_room;
};

/* Begins with a copy of `from` (NULL: empty). Names, attributes and constants are borrowed: `from`
 * must outlive the graph. */
void builder_init(struct builder *builder, const struct graph *from);
void builder_release(struct builder *builder);
/* The caller owns the graph afterwards (graph_release); the builder is empty. */
void builder_take(struct builder *builder, struct graph *ret_graph);

/* These functions return the index of a value. Constants are copied; names are borrowed. */
int builder_constant(struct builder *builder, const struct tensor *tensor);
int builder_integers(struct builder *builder, const int64_t *values, int count); /* int64[count] */
int builder_number(struct builder *builder, float value);                        /* a scalar */
int builder_input(struct builder *builder, const char *name, enum tensor_type type,
                  const struct shape *shape); /* shape NULL: any */
/* A value that no node makes yet, for a node that the caller changes in place. */
int builder_value(struct builder *builder, const char *name);
/* Appends a value to the inputs. */
void builder_add_input(struct builder *builder, int value);
/* Turns a constant into an input with the same, fixed shape. */
void builder_make_input(struct builder *builder, int value);
/* Removes all nodes, to be replaced by new ones; values, inputs and outputs stay. */
void builder_clear_nodes(struct builder *builder);
/* Appends a node whose outputs are existing values that no other node makes. Borrows its lists. */
void builder_append(struct builder *builder, const struct node *node);
void builder_output(struct builder *builder, int value);

/* A new node. Inputs of -1 are absent; the lists are copied, names are borrowed. */
struct builder_new_node {
    const struct op *op;
    const char *name; /* for messages: the name of the node for which it is made */
    int opset;        /* 0: BUILDER_OPSET */
    int input_count, output_count;
    const int *inputs;
    size_t attribute_count;
    const struct attribute *attributes;
};
/* Appends the node and returns its first output; the indices of further outputs follow. */
int builder_node(struct builder *builder, const struct builder_new_node *node);
