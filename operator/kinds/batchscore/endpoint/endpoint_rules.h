/* endpoint_rules.h: the rules between the fields of spec.scorer.endpoint that a schema cannot say.
 * Pure. */
#pragma once

#include "operator/kinds/job/spec.h"

NODISCARD int endpoint_rules_check(const json_t *spec, struct error *err);
