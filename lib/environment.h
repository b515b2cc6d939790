/* environment.h: reads the environment variables that Windlass sets in a pod. */
#pragma once

#include "lib/error.h"

/* *ret_value is borrowed from the environment: a later setenv of that name may free it. INVALID:
 * the variable is missing or empty. Safe in any thread while none calls setenv. */
NODISCARD int environment_read(const char *name, const char **ret_value, struct error *err);

/* Sets the error that environment_read sets for a missing variable; for those that are read as
 * secrets (secret.h). Always returns -1. */
NODISCARD int environment_missing(const char *name, struct error *err);

/* The value of a variable, borrowed until the next call; NULL: not known. */
typedef const char *environment_lookup(void *context, const char *name);
/* Replaces $(NAME) by the variable's value and $$ by $, as a kubelet does in a container's words
 * and variables; what is not known stays as it is. The caller frees. */
char *environment_expand(const char *text, environment_lookup *lookup, void *context);
