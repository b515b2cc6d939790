/* op_id.h: enum op_id: one constant per operator, the index into a device's kernel table. The names
 * are in op_ids.inc, the rows in table.c. */
#pragma once

#include "agent/engine/graph/op.h"

enum op_id {
#include "agent/engine/ops/op_ids.inc"
};
