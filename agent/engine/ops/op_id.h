/* op_id.h: the numbers of operators: enum op_id is the index of a device's kernel table. The names
 * are in op_ids.inc, the rows in table.c. */
#pragma once

#include "agent/engine/graph/op.h"

enum op_id {
#include "agent/engine/ops/op_ids.inc"
};
