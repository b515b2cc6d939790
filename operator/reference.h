/* reference.h: a kind's fields as a page for people (Markdown), generated from its schema. */
#pragma once

#include "operator/schema.h"

/* The caller frees. */
NODISCARD int reference_page(const struct schema *schema, char **ret_text, struct error *err);
