/* reference.h: a kind's fields as a page for people (Markdown), generated from its schema. */
#pragma once

#include "operator/schema.h"

/* The caller frees. */
NODISCARD int reference_page(const struct schema *schema, char **ret_text, struct error *err);
/* One field and the fields in it, as plain text (`windlass explain FIELD`). path: names joined by
 * points, such as "spec.scorer.onnx" or, without `spec`, "scorer.onnx"; "[]" after a list's name
 * may be left out; "": the kind itself. ERROR_INVALID, with the most similar name or all names,
 * where there is no such field; then *ret_depth is how many names were found. The caller frees
 * *ret_text. */
NODISCARD int reference_field(const struct schema *schema, const char *path, char **ret_text,
                              int *ret_depth, struct error *err);
