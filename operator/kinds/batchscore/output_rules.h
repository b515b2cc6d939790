/* output_rules.h: the rules between the fields of spec.output that say what rows become (rules.c
 * has all others). crds/batchscore.yaml has each as CEL with the same message. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

NODISCARD int output_rules_check(const json_t *spec, struct error *err);
