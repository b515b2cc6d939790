/* exit_code.h: converts the way in which a coordinator ended to an exit code and a termination
 * message for the operator (docs/errors.md). Pure. */
#pragma once

#include "lib/error.h"

/* The exit code for an error, ERROR_NONE for success. is_listed: the input is listed and everything
 * was tested; before, a fault is one of the manifest: input, model or output folder (2). */
int exit_code_of(const struct error *err, bool is_listed);
