/* node.h: one operation of a graph: an operator, its inputs and outputs, and its attributes. Public
 * as part of agent/engine/graph.h. */
#pragma once

#include "agent/engine/graph/op.h"

enum { NODE_PORTS_MAX = 4096 }; /* inputs, and outputs, of one node */

struct node {
    const struct op *op;
    const char *name; /* from the file; if it has none, the name of the first output */
    int opset;        /* version of the operator set by which the node is interpreted */
    int input_count, output_count;
    const int *inputs;  /* indices into graph->values; -1: an optional input that is absent */
    const int *outputs; /* indices into graph->values; -1: an optional output that is absent */
    size_t attribute_count;
    const struct attribute *attributes;
    /* Data that was computed once from the attributes when the file was read (decision trees:
     * engine/ops/ml/ml.h); owned by that graph's arena. NULL: none. */
    void *made;
};

/* These functions return an attribute of the node by its name; `fallback` (or NULL) if the node
 * does not have it. The kind must be right (node_check). Results are borrowed. */
const struct attribute *node_attribute(const struct node *node, const char *name);
int64_t node_integer(const struct node *node, const char *name, int64_t fallback);
float node_number(const struct node *node, const char *name, float fallback);
const char *node_text(const struct node *node, const char *name, const char *fallback);
/* *ret_count is 0 if the node does not have it. */
const int64_t *node_integers(const struct node *node, const char *name, size_t *ret_count);

/* Checks the number of inputs and outputs, and the attributes, against node->op. ERROR_INVALID: a
 * wrong number, or an attribute of another kind; ERROR_UNSUPPORTED: an unknown attribute, or a
 * value that is not supported. The message names node and attribute. */
NODISCARD int node_check(const struct node *node, struct error *err);
