/* environment.h: reads the environment of a pod's program and removes secrets from it. Not
 * thread-safe: call it at the start, before threads and children. */
#pragma once

#include "lib/error.h"

/* *ret_value is borrowed from the environment. INVALID: the variable is missing or empty. */
NODISCARD int environment_read(const char *name, const char **ret_value, struct error *err);

/* Sets the error of environment_read for a missing variable; for secrets. */
NODISCARD int environment_missing(const char *name, struct error *err);

/* Moves a secret out of the environment: the caller frees it with secret_forget; NULL: not set.
 * Every process of this user can read /proc/PID/environ, which keeps the original bytes even after
 * unsetenv, so the bytes themselves are overwritten. */
char *secret_take(const char *name);
/* Overwrites and frees the secret; *secret becomes NULL and may be NULL. */
void secret_forget(char **secret);
