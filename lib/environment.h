/* environment.h: what a pod's program is told by its environment, and the secrets in it. Single
 * threaded: at the start, before there are threads and children. */
#pragma once

#include "lib/error.h"

/* INVALID, naming the variable: missing or empty. *ret_value is the environment's. */
NODISCARD int environment_read(const char *name, const char **ret_value, struct error *err);

/* What environment_read says of one that is not there, for secrets. */
NODISCARD int environment_missing(const char *name, struct error *err);

/* The variable's value, the caller's; NULL: there is none. Every process of this user can read our
 * environment as the kernel keeps it (/proc/PID/environ: where the bytes were at the start,
 * whatever unsetenv says). So the bytes themselves go. */
char *secret_take(const char *name);
/* Overwrites and frees it; *secret becomes NULL. NULL is fine. */
void secret_forget(char **secret);
