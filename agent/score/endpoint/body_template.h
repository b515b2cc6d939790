/* body_template.h: spec.scorer.endpoint.request.template: a JSON body with {column} in its texts. A
 * text that is one column and nothing else becomes its value, whatever its type; within a text its
 * text is put in place. {{ and }} are braces. Pure. */
#pragma once

#include "lib/buffer.h"
#include "lib/tree.h"

/* Appends the body as JSON. values: an object, the row's columns, or of a file name, text, data.
 * INVALID: there is no such column, or a brace is alone. EXHAUSTED: body has no room. */
NODISCARD int body_template_fill(const json_t *template, const json_t *values, struct buffer *body,
                                 struct error *err);
/* Whether a text of it has {name}. */
bool body_template_names(const json_t *template, const char *name);
