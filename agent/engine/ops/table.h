/* table.h: the supported operators, one row per operator and range of opsets. A new operator is a
 * name in op_ids.inc, a row in table.c, its shape rule in a family's file, and its kernel in the
 * devices' tables: see docs/adding/operator.md. */
#pragma once

#include "agent/engine/graph.h"
#include "agent/engine/ops/op_id.h"

/* The row for a standard operator in a version of the standard; NULL: not supported. */
const struct op *op_find(const char *name, int opset);
/* The row for nodes that the engine makes: of opset 13, or internal. Never NULL for an operator of
 * opset 13. */
const struct op *op_of_id(enum op_id id);
/* Rows in the order of the table, for listings and tests; NULL if index is past the last row. */
const struct op *op_row(size_t index);
/* The forward node for which a gradient's node was made (its attribute "of" names the operator; op
 * is NULL if no file can name it). The caller sets the inputs. */
struct node op_forward_node(const struct node *node);
