/* types.h: the types of a graph's values before any shape is known: what a node's outputs are
 * follows from its inputs' types and its attributes alone. Where a shape rule sets a type of its
 * own it is here, too; tests/conformance/test_device.c holds the two against each other. */
#pragma once

#include "agent/engine/graph.h"

/* Inputs that are absent have any type. Fails for an attribute that names no type of ours. */
NODISCARD int types_output(const struct node *node, const enum tensor_type *inputs, int output,
                           enum tensor_type *ret_type, struct error *err);
