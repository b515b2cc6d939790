/* credential.h: our credentials, which change: token files that are rotated (read again every
 * minute and after a token was refused) and exec credential plug-ins, which run as children of the
 * loop. A plug-in's output is never logged, because it is a secret. */
#pragma once

#include "operator/kube/config.h"
#include "operator/kube/loop.h"

enum {
    CREDENTIAL_FILE_AGE_MS = 60000,
    CREDENTIAL_PLUGIN_MS = 120000,     /* after this time it is killed */
    CREDENTIAL_PLUGIN_MAX = 1 << 20,   /* bytes of its output */
    CREDENTIAL_EARLY_MS = 30000,       /* a new one is requested this long before it expires */
    CREDENTIAL_FAILED_PAUSE_MS = 5000, /* before a plug-in that failed runs again */
};

struct credential;

/* All may be NULL. Borrowed until the next call. */
struct credential_view {
    const char *token, *certificate_pem, *key_pem;
    unsigned number; /* identifies the credential for credential_refused */
};

enum credential_state { CREDENTIAL_READY, CREDENTIAL_PENDING, CREDENTIAL_FAILED };

/* changed(context) is called when a PENDING credential becomes READY or FAILED. config and loop
 * must outlive it. Fails with INVALID when config.exec is not supported. */
NODISCARD int credential_new(const struct config *config, struct loop *loop,
                             void (*changed)(void *context), void *context,
                             struct credential **ret_credential, struct error *err);
void credential_free(struct credential *credential); /* kills a running plug-in */
void credential_freep(struct credential **credential);

/* READY: sets *ret_view. FAILED: sets *err (INVALID when only a person can fix it). PENDING: sets
 * neither yet. */
enum credential_state credential_get(struct credential *credential,
                                     struct credential_view *ret_view, struct error *err);

/* The server answered 401 to that credential. False: it cannot be replaced (a fixed token). */
bool credential_refused(struct credential *credential, unsigned number);

/* The pure parts. */

/* The text of KUBERNETES_EXEC_INFO; the caller frees. */
char *credential_exec_info(const struct config *config);
/* Reads a plug-in's output. Texts are the caller's, NULL when absent; expires_ms is wall time, 0:
 * not given. Fails with INVALID; the error never quotes the output. */
struct credential_said {
    char *token, *certificate_pem, *key_pem;
    int64_t expires_ms;
};
NODISCARD int credential_read(const json_t *exec, const char *text, size_t size,
                              struct credential_said *ret_said, struct error *err);
void credential_said_release(struct credential_said *said);
