/* environment.h: reads the environment variables that Windlass sets in a pod. */
#pragma once

#include "lib/error.h"

/* *ret_value is borrowed from the environment: a later setenv of that name may free it. INVALID:
 * the variable is missing or empty. Safe in any thread while none calls setenv. */
NODISCARD int environment_read(const char *name, const char **ret_value, struct error *err);

/* Sets the error that environment_read sets for a missing variable; for those that are read as
 * secrets (secret.h). Always returns -1. */
NODISCARD int environment_missing(const char *name, struct error *err);
