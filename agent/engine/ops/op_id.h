/* op_id.h: the operators by number: enum op_id is the index of a device's kernel table. Names are
 * those of op_ids.inc; table.c has the row of each. */
#pragma once

#include "agent/engine/graph/op.h"

enum op_id {
#include "agent/engine/ops/op_ids.inc"
};
