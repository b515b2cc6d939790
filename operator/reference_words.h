/* reference_words.h: words that pages about fields share (reference.h, reference_field.h). */
#pragma once

#include "lib/tree.h"

enum { REFERENCE_COLUMNS = 100 }; /* the longest line of a paragraph */

/* What a field takes: its type and bounds, or the values of its enum, each within `quote`. The
 * caller frees. */
char *reference_takes(const json_t *schema, const char *quote);
/* Whether the schema of an object requires the member `key`. */
bool reference_requires(const json_t *parent, const char *key);
/* The forms of a path, for people, if the field is one: VOLUME/path/in/it, az://... The caller
 * frees; NULL: it takes something else. */
char *reference_path_forms(const json_t *schema);
/* The same of any path of a kind. */
extern const char reference_paths[];
/* text in lines of at most REFERENCE_COLUMNS columns, each with `indent` before it and a newline
 * after it. The caller frees. */
char *reference_paragraph(const char *text, const char *indent);
