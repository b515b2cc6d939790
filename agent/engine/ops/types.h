/* types.h: the types of a graph's values before shapes are known: the types of a node's outputs
 * depend only on the types of its inputs and on its attributes. Types that shape rules set are
 * repeated here; tests/conformance/test_device.c compares the two. */
#pragma once

#include "agent/engine/graph.h"

/* The entries of absent inputs are ignored. Fails if an attribute names a type that the engine does
 * not have. */
NODISCARD int types_output(const struct node *node, const enum tensor_type *inputs, int output,
                           enum tensor_type *ret_type, struct error *err);
