// SPDX-License-Identifier: Apache-2.0
#include "lib/net/tls_identity.h"

#include "lib/net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

struct tls_identity {
    X509 *certificate;
    STACK_OF(X509) * authorities;
    EVP_PKEY *key;
};

static void bio_freep(BIO **bio) {
    BIO_free(*bio);
}

void tls_identity_freep(struct tls_identity **identity) {
    struct tls_identity *one = *identity;
    if (one) {
        X509_free(one->certificate);
        sk_X509_pop_free(one->authorities, X509_free);
        EVP_PKEY_free(one->key);
        free(one);
    }
}

static int read_certificates(struct tls_identity *identity, const char *pem, struct error *err) {
    AUTO(bio_freep) BIO *text = BIO_new_mem_buf(pem, (int)strnlen(pem, TLS_PEM_MAX + 1));
    char no_password[] = "";
    identity->authorities = sk_X509_new_null();
    X509 *next;
    while ((next = PEM_read_bio_X509(text, NULL, NULL, no_password))) {
        if (!identity->certificate) {
            identity->certificate = next;
        } else if (!sk_X509_push(identity->authorities, next)) {
            X509_free(next);
            return error_set(err, ERROR_EXHAUSTED, "no memory for a certificate");
        }
    }
    bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    return identity->certificate && is_end
               ? 0
               : error_set(err, ERROR_INVALID, "a PEM certificate in the text is damaged");
}

int tls_identity_read(const char *certificate_pem, const char *key_pem,
                      struct tls_identity **ret_identity, struct error *err) {
    AUTO(tls_identity_freep) struct tls_identity *identity = x_calloc(1, sizeof *identity);
    uint8_t *der = NULL;
    size_t size = 0;
    if (tls_pem_to_der(certificate_pem, false, &der, &size, err) < 0) {
        return -1;
    }
    free(TAKE(der));
    if (read_certificates(identity, certificate_pem, err) < 0 ||
        tls_pem_to_der(key_pem, true, &der, &size, err) < 0) {
        return -1;
    }
    const uint8_t *at = der;
    identity->key = d2i_AutoPrivateKey(NULL, &at, (long)size);
    OPENSSL_cleanse(der, size);
    free(der);
    if (!identity->key) {
        ERR_clear_error();
        return error_set(err, ERROR_INVALID, "the private key is damaged");
    }
    *ret_identity = TAKE(identity);
    return 0;
}

int tls_identity_use(const struct tls_identity *identity, SSL_CTX *tls, struct error *err) {
    if (SSL_CTX_use_cert_and_key(tls, identity->certificate, identity->key, identity->authorities,
                                 1) == 1) {
        return 0;
    }
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    error_set(err, ERROR_INVALID, "the certificate cannot be used with this private key: %s",
              reason ? reason : "no reason given");
    ERR_clear_error();
    return -1;
}

int tls_identity_check(const char *certificate_pem, const char *key_pem, struct error *err) {
    AUTO(tls_identity_freep) struct tls_identity *identity = NULL;
    if (tls_identity_read(certificate_pem, key_pem, &identity, err) < 0) {
        return -1;
    }
    bool is_pair = X509_check_private_key(identity->certificate, identity->key) == 1;
    ERR_clear_error();
    return is_pair ? 0
                   : error_set(err, ERROR_INVALID,
                               "the private key is not that of the (first) certificate");
}

/* A context has a certificate for each type of key, of which a client may get any. So what a
 * connection has of it is taken away first. */
int tls_identity_show(const struct tls_identity *identity, SSL *tls) {
    SSL_certs_clear(tls);
    return SSL_use_cert_and_key(tls, identity->certificate, identity->key, identity->authorities,
                                1);
}
