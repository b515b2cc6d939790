/* environment.h: reads the environment variables that Windlass sets in a pod. */
#pragma once

#include "lib/error.h"

/* *ret_value is borrowed from the environment. INVALID: the variable is missing or empty. */
NODISCARD int environment_read(const char *name, const char **ret_value, struct error *err);

/* Sets the error of environment_read for a missing variable; for secrets. */
NODISCARD int environment_missing(const char *name, struct error *err);
