/* table.h: the operators Windlass knows, one row per operator and range of opsets. A new operator
 * is a name in op_ids.inc, a row in table.c, its shape rule in a family's file, and its kernel in
 * the devices' tables: see docs/adding-an-op.md. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/ops/op_id.h"

/* The row for a standard operator in a version of the standard; NULL: not supported. */
const struct op *table_find(const char *name, int opset);
/* The row for nodes that we make ourselves: of opset 13, or internal. Never NULL for an operator
 * that opset 13 has. */
const struct op *table_op(enum op_id id);
/* Rows in the order of the table, for listings and tests; NULL when index is past the last. */
const struct op *table_row(size_t index);
/* The forward node that a gradient's node was made for (its attribute "of" names the operator; op
 * is NULL where no file can name it). Inputs are the caller's to set. */
struct node table_forward(const struct node *node);
