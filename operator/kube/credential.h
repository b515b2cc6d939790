/* credential.h: what proves who we are, as it changes: token files that are rotated (read anew
 * every minute and when a token was refused) and exec credential plug-ins, which run as a child of
 * the loop. Their output is never shown: it is a secret. */
#pragma once

#include "operator/kube/config.h"
#include "operator/kube/loop.h"

enum {
    CREDENTIAL_FILE_AGE_MS = 60000,
    CREDENTIAL_PLUGIN_MS = 120000,     /* then it is killed */
    CREDENTIAL_PLUGIN_MAX = 1 << 20,   /* bytes it may say */
    CREDENTIAL_EARLY_MS = 30000,       /* before it expires, it is asked for anew */
    CREDENTIAL_FAILED_PAUSE_MS = 5000, /* before a plug-in that failed runs again */
};

struct credential;

/* All may be NULL. Borrowed until the next call. */
struct credential_view {
    const char *token, *certificate_pem, *key_pem;
    unsigned number; /* which one it is, for credential_refused */
};

enum credential_state { CREDENTIAL_READY, CREDENTIAL_PENDING, CREDENTIAL_FAILED };

/* changed(context) is called when a PENDING one became READY or FAILED. config and loop must live
 * on. Fails with INVALID when config.exec is something we cannot run. */
NODISCARD int credential_new(const struct config *config, struct loop *loop,
                             void (*changed)(void *context), void *context,
                             struct credential **ret_credential, struct error *err);
void credential_free(struct credential *credential); /* kills a plug-in that runs */
void credential_freep(struct credential **credential);

/* READY: *ret_view. FAILED: *err (INVALID when only a person can help). PENDING: neither, yet. */
enum credential_state credential_get(struct credential *credential,
                                     struct credential_view *ret_view, struct error *err);

/* The server answered 401 to that one. False: a new one cannot be had (a fixed token). */
bool credential_refused(struct credential *credential, unsigned number);

/* The parts of it that are pure. */

/* The text of KUBERNETES_EXEC_INFO; the caller frees. */
char *credential_exec_info(const struct config *config);
/* Reads what a plug-in said. Texts are the caller's, NULL when absent; expires_ms is wall time, 0:
 * it does not say. Fails with INVALID; the error never quotes the text. */
struct credential_said {
    char *token, *certificate_pem, *key_pem;
    int64_t expires_ms;
};
NODISCARD int credential_read(const json_t *exec, const char *text, size_t size,
                              struct credential_said *ret_said, struct error *err);
void credential_said_release(struct credential_said *said);
