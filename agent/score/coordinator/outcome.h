/* outcome.h: what the end of a coordinator means to the operator (docs/errors.md). Pure. */
#pragma once

#include "lib/error.h"

/* The exit code for an error, ERROR_NONE for success. is_listed: the input is listed and everything
 * was tested; before, a fault is one of the manifest: input, model or output folder (2). */
int outcome_exit_code(const struct error *err, bool is_listed);
