/* attribute_rules.h: which attributes an operator knows, for the rows of agent/engine/ops/table.c:
 * a list NAME_rules for each line of attribute_rules.inc, which ends with a rule without a name. An
 * attribute that no kernel implements is in no list, so that it is refused by name. */
#pragma once

#include "agent/engine/graph/op.h"

#define RULES(list, ...) extern const struct attribute_rule list##_rules[];
#include "agent/engine/ops/attribute_rules.inc"
#undef RULES
