/* score_set.h: fields of a manifest on the command line: --set scorer.onnx.precision=FP16. */
#pragma once

#include "lib/options.h"
#include "lib/tree.h"

/* Sets a field of a manifest, with the objects around it. field: "miniBatchSize",
 * "spec.workers.max", "metadata.name"; without the first word it is of spec. value: owned by the
 * callee, also if it fails. INVALID: not the name of a field. */
NODISCARD int score_set(json_t *manifest, const char *field, json_t *value, struct error *err);
/* "FIELD=VALUE", with a value of YAML, such as 4, yes-man, [a, b] or {cpu: 2}. */
NODISCARD int score_set_word(json_t *manifest, const char *word, struct error *err);
NODISCARD int score_set_words(json_t *manifest, const struct option_list *words, struct error *err);
/* "a,b,c" as a list of texts; owned. */
json_t *score_split(const char *text);
