/* attribute_rules.h: which attributes each operator may have, of which type and with which values,
 * for the rows of agent/engine/ops/table.c. Each line of attribute_rules.inc becomes an array
 * NAME_rules; the array ends with a rule without a name. Attributes that no kernel implements are
 * not listed, so models that use them are refused by name. */
#pragma once

#include "agent/engine/graph/op.h"

#define RULES(list, ...) extern const struct attribute_rule list##_rules[];
#include "agent/engine/ops/attribute_rules.inc"
#undef RULES
