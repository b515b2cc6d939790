/* tls_identity.h: who a server is: its certificate, those of the authorities between it and a
 * root, and its private key of any kind (EC, RSA, Ed25519). */
#pragma once

#include "lib/error.h"

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct tls_identity;

/* PEM texts. The certificate is the first one; all behind it are sent along. INVALID: a text has
 * none, is damaged or is larger than TLS_PEM_MAX. */
NODISCARD int tls_identity_read(const char *certificate_pem, const char *key_pem,
                                struct tls_identity **ret_identity, struct error *err);
void tls_identity_freep(struct tls_identity **identity);

/* Connections that begin from now on have it. INVALID: the key is another certificate's, or too
 * weak; then they have the one before. */
NODISCARD int tls_identity_use(const struct tls_identity *identity, struct ssl_ctx_st *tls,
                               struct error *err);
