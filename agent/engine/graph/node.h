/* node.h: one operation of a graph: an operator, its inputs and outputs, and its attributes. Public
 * as part of agent/engine/graph.h. */
#pragma once

#include "agent/engine/graph/op.h"

enum { NODE_PORTS_MAX = 4096 }; /* inputs, and outputs, of one node */

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
