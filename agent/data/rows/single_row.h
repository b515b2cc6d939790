/* single_row.h: the row of one result as a file of its own (mode PerFile), in spec.output.format:
 * what the file of all rows would be (rows_form.h), with this row alone. Pure. */
#pragma once

#include "agent/data/rows/row_line.h"

/* What is added to an item's name: ".csv"; NULL: the spec has no format. Borrowed. */
const char *single_row_ending(const json_t *spec);
/* Appends the file's bytes; only if single_row_ending is not NULL. INVALID: the row does not fit
 * the format or spec.output.types. */
NODISCARD int single_row_make(const json_t *spec, const struct row_line *line, struct buffer *out,
                              struct error *err);
