/* attribute_rules.h: the attributes of operators, for the rows of agent/engine/ops/table.c: a list
 * NAME_rules for each line of attribute_rules.inc, which ends with a rule without a name.
 * Attributes that no kernel implements are not listed, so models that use them are refused by
 * name. */
#pragma once

#include "agent/engine/graph/op.h"

#define RULES(list, ...) extern const struct attribute_rule list##_rules[];
#include "agent/engine/ops/attribute_rules.inc"
#undef RULES
