/* result_rules.h: the rules between the fields of spec.scorer.onnx that say what becomes of the
 * outputs of a network: output, outputs, postprocess. crds/batchscore.yaml has each as CEL with the
 * same message. */
#pragma once

#include "lib/tree.h"

/* INVALID names the field. */
NODISCARD int result_rules_check(const json_t *spec, struct error *err);
/* Whether its type is for items that are pictures. onnx: spec.scorer.onnx, or NULL. */
bool result_rules_wants_pictures(const json_t *onnx);
/* Whether the results are pictures. */
bool result_rules_makes_pictures(const json_t *onnx);
