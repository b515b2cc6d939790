/* score_header.h: the columns of a table, by its first line. */
#pragma once

#include "lib/tree.h"

/* format: CSV, TSV or JSONLines; of another one, and of a first line that has no columns,
 * *ret_names is NULL. Otherwise an array of texts, owned. INVALID: the file cannot be read. */
NODISCARD int score_header_read(const char *path, const char *format, json_t **ret_names,
                                struct error *err);
