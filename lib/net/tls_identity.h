/* tls_identity.h: who a server is: its certificate, those of the authorities between it and a
 * root, and its private key of any kind (EC, RSA, Ed25519). */
#pragma once

#include "lib/error.h"

struct ssl_st;     /* OpenSSL's SSL */
struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct tls_identity;

/* PEM texts. The certificate is the first one; all behind it are sent along. INVALID: a text has
 * none, is damaged or is larger than TLS_PEM_MAX. */
NODISCARD int tls_identity_read(const char *certificate_pem, const char *key_pem,
                                struct tls_identity **ret_identity, struct error *err);
void tls_identity_freep(struct tls_identity **identity);

/* Checks that the certificate and its key may be used, and sets them. INVALID: the key is another
 * certificate's, or one of the two is too weak for OpenSSL. */
NODISCARD int tls_identity_use(const struct tls_identity *identity, struct ssl_ctx_st *tls,
                               struct error *err);
/* Whether a certificate and a key can be read and belong together. INVALID: they do not. */
NODISCARD int tls_identity_check(const char *certificate_pem, const char *key_pem,
                                 struct error *err);
/* For SSL_CTX_set_cert_cb: this connection has that identity alone. 1: it has; 0: it cannot. */
NODISCARD int tls_identity_show(const struct tls_identity *identity, struct ssl_st *tls);
