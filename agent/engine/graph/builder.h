/* builder.h: makes a graph in memory: a copy of another one, say, with nodes behind it. Values keep
 * their indices. A new node reads values that exist, so nodes are in order by themselves.
 */
#pragma once

#include "agent/engine/graph.h"

/* Attributes mean what they mean in this version of the standard. */
enum { BUILDER_OPSET = 13 };

struct builder {
    struct graph graph; /* as far as it has come; the builder's until builder_take */
    size_t value_room, node_room, input_room, output_room;
};

/* Begins with all of `from` (NULL: with nothing). Names, attributes and constants stay borrowed:
 * `from` must outlive the graph. */
void builder_init(struct builder *builder, const struct graph *from);
void builder_release(struct builder *builder);
/* The graph is the caller's now (graph_release); the builder is empty. */
void builder_take(struct builder *builder, struct graph *ret_graph);

/* All return the index of a value. Constants are copied; names are borrowed. */
int builder_constant(struct builder *builder, const struct tensor *tensor);
int builder_integers(struct builder *builder, const int64_t *values, int count); /* int64[count] */
int builder_number(struct builder *builder, float value);                        /* a scalar */
int builder_input(struct builder *builder, const char *name, enum tensor_type type,
                  const struct shape *shape); /* shape NULL: any */
/* A value that nothing makes yet, for a node that the caller changes in place. */
int builder_value(struct builder *builder, const char *name);
/* Appends a value to the inputs. */
void builder_add_input(struct builder *builder, int value);
/* A constant that the caller will give from now on: it is an input, its shape is fixed. */
void builder_make_input(struct builder *builder, int value);
/* The next nodes come instead of those there are; values, inputs and outputs stay. */
void builder_clear_nodes(struct builder *builder);
/* Appends a node whose outputs are values already, which nothing makes yet. Borrows its lists. */
void builder_append(struct builder *builder, const struct node *node);
void builder_output(struct builder *builder, int value);

/* What a new node is. Inputs of -1 are absent; the struct's lists are copied, names are borrowed.
 */
struct builder_node {
    const struct op *op;
    const char *name; /* for messages: the node it was made for */
    int opset;        /* 0: BUILDER_OPSET */
    int input_count, output_count;
    const int *inputs;
    size_t attribute_count;
    const struct attribute *attributes;
};
/* Appends it and returns its first output; the others follow it. */
int builder_node(struct builder *builder, const struct builder_node *node);
