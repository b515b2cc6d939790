// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/attribute_rules.h"

#include "agent/engine/graph/node.h"

#define AUTO_PADS "NOTSET|SAME_UPPER|SAME_LOWER|VALID"

#define RULE(text, type, ...)                                                                      \
    { .name = #text, .kind = ATTRIBUTE_##type, __VA_ARGS__ }
#define INTEGER(name) RULE(name, INTEGER)
#define RANGE(name, least, most) RULE(name, INTEGER, .low = least, .high = most)
#define INTEGERS(name) RULE(name, INTEGERS)
#define NUMBER(name) RULE(name, NUMBER)
#define NUMBERS(name) RULE(name, NUMBERS)
#define STRING(name) RULE(name, STRING)
#define CHOICE(name, strings) RULE(name, STRING, .values = strings)
#define STRINGS(name) RULE(name, STRINGS)
#define TENSOR(name) RULE(name, TENSOR)
#define BODY(name) RULE(name, GRAPH)
#define TYPE(name) RULE(name, OPTIONAL)

#define RULES(list, ...) const struct attribute_rule list##_rules[] = {__VA_ARGS__, {.name = NULL}};
#include "agent/engine/ops/attribute_rules.inc"
