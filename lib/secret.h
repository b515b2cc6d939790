/* secret.h: secrets in environment variables. Not thread-safe: call it at the start, before threads
 * and children. */
#pragma once

#include "lib/base.h"

/* Moves a secret out of the environment: the caller frees it with secret_forget; NULL: not set.
 * Every process of this user can read /proc/PID/environ, which keeps the original bytes even after
 * unsetenv, so the bytes themselves are overwritten. */
char *secret_take(const char *name);
/* Overwrites and frees the secret; *secret becomes NULL and may be NULL. */
void secret_forget(char **secret);
