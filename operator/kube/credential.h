/* credential.h: credentials that change while the program runs. Token files are rotated by the
 * kubelet: they are read again every minute, and when the server has refused a token. Exec
 * credential plug-ins of a kubeconfig run as child processes; the loop waits for them. Their output
 * is a secret and is never logged. */
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

struct kube_credential;

/* The current credential. Texts may be NULL; they are borrowed until the next call. */
struct kube_credential_view {
    const char *token, *certificate_pem, *key_pem;
    unsigned number; /* identifies the credential for kube_credential_refused */
};

enum kube_credential_state { CREDENTIAL_READY, CREDENTIAL_PENDING, CREDENTIAL_FAILED };

/* changed(context) is called when a PENDING credential becomes READY or FAILED. config and loop
 * must outlive the credential. Fails with INVALID when config.exec is not supported. */
NODISCARD int kube_credential_new(const struct config *config, struct loop *loop,
                                  void (*changed)(void *context), void *context,
                                  struct kube_credential **ret_credential, struct error *err);
void kube_credential_free(struct kube_credential *credential); /* kills a running plug-in */
void kube_credential_freep(struct kube_credential **credential);

/* READY: sets *ret_view. FAILED: sets *err (INVALID when only a person can fix it). PENDING: a
 * plug-in is running; sets neither. */
enum kube_credential_state kube_credential_get(struct kube_credential *credential,
                                               struct kube_credential_view *ret_view,
                                               struct error *err);

/* Call it when the server answered 401. number: of the credential that was sent. True: a new one
 * will be read. False: no other one (a fixed token). */
bool kube_credential_refused(struct kube_credential *credential, unsigned number);

/* ---- without I/O ---- */

/* The plug-in's environment variable KUBERNETES_EXEC_INFO; the caller frees it. */
char *kube_credential_exec_info(const struct config *config);
/* A plug-in's output. */
struct kube_credential_reply {
    char *token, *certificate_pem, *key_pem; /* NULL: absent */
    int64_t expires_ms;                      /* wall time; 0: not given */
};
/* Fails with INVALID; the error never quotes the output. */
NODISCARD int kube_credential_read(const json_t *exec, const char *text, size_t size,
                                   struct kube_credential_reply *ret_reply, struct error *err);
void kube_credential_reply_release(struct kube_credential_reply *reply);
