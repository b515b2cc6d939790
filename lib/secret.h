/* secret.h: secrets of a pod, in files or environment variables. Not thread-safe: call it at the
 * start, before threads and children. */
#pragma once

#include "lib/error.h"

enum { SECRET_BYTES_MAX = 64 << 10 };

/* Takes a secret from where the pod has it: *ret_secret is the caller's, who frees it with
 * secret_forget; NULL: there is none.
 *
 * From the environment variable of that name: every process of this user can read
 * /proc/PID/environ, which keeps the original bytes even after unsetenv, so the bytes themselves
 * are overwritten. Else from its file in the folder that WINDLASS_SECRETS names: "token" for
 * WINDLASS_TOKEN, "tls.key" for WINDLASS_TLS_KEY, "signing.key" for WINDLASS_SIGNING_KEY,
 * "query.connection" for WINDLASS_QUERY_CONNECTION, "endpoint.key" for WINDLASS_ENDPOINT_KEY,
 * "endpoint.tls.crt" and "endpoint.tls.key" for WINDLASS_ENDPOINT_TLS_CERTIFICATE and _TLS_KEY. The
 * file is removed, unless its file system is read-only: then no program of a user runs in this pod.
 * DENIED, UNAVAILABLE, EXHAUSTED: the file cannot be read, removed, or is too large. */
NODISCARD int secret_take(const char *name, char **ret_secret, struct error *err);
/* Overwrites each occurrence of the secret (NULL or empty: none) in the text by asterisks. Any
 * thread. */
void secret_mask(char *text, size_t size, const char *secret);
/* Overwrites and frees the secret; *secret becomes NULL and may be NULL. */
void secret_forget(char **secret);
