// SPDX-License-Identifier: Apache-2.0
#include "lib/signature.h"

#include "lib/digest.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct signature_key {
    EVP_PKEY *key;
};

/* OpenSSL would ask the terminal for the passphrase of an encrypted key. */
static int refuse_passphrase(char *text UNUSED, int size UNUSED, int writes UNUSED,
                             void *context UNUSED) {
    return -1;
}

static int read_key(const char *pem, bool is_private, struct signature_key **ret_key,
                    struct error *err) {
    BIO *bio = BIO_new_mem_buf(pem, (int)strnlen(pem, SIGNATURE_PEM_MAX));
    EVP_PKEY *key = NULL;
    if (bio) {
        key = is_private ? PEM_read_bio_PrivateKey(bio, NULL, refuse_passphrase, NULL)
                         : PEM_read_bio_PUBKEY(bio, NULL, refuse_passphrase, NULL);
    }
    BIO_free(bio);
    if (!key || EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519) {
        bool is_other = key != NULL;
        EVP_PKEY_free(key);
        return error_set(err, ERROR_INVALID,
                         is_private ? "%sexpected an ed25519 private key in PEM without a "
                                      "passphrase (openssl genpkey -algorithm ed25519)"
                                    : "%sexpected an ed25519 public key in PEM (openssl pkey -in "
                                      "KEY -pubout)",
                         is_other ? "a key of another algorithm, " : "no key, ");
    }
    *ret_key = x_calloc(1, sizeof **ret_key);
    (*ret_key)->key = key;
    return 0;
}

int signature_key_read_private(const char *pem, struct signature_key **ret_key, struct error *err) {
    return read_key(pem, true, ret_key, err);
}

int signature_key_read_public(const char *pem, struct signature_key **ret_key, struct error *err) {
    return read_key(pem, false, ret_key, err);
}

void signature_key_free(struct signature_key *key) {
    if (key) {
        EVP_PKEY_free(key->key);
        free(key);
    }
}

void signature_key_freep(struct signature_key **key) {
    signature_key_free(TAKE(*key));
}

static _Noreturn void stop(void) {
    fprintf(stderr, "OpenSSL cannot use an ed25519 key\n");
    abort();
}

void signature_key_id(const struct signature_key *key, char ret_id[static 65]) {
    unsigned char *der = NULL;
    int size = i2d_PUBKEY(key->key, &der);
    if (size <= 0) {
        stop();
    }
    digest_sha256(der, (size_t)size, ret_id);
    OPENSSL_free(der);
}

void signature_sign(const struct signature_key *key, const void *data, size_t size,
                    unsigned char ret_signature[static SIGNATURE_BYTES]) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t length = SIGNATURE_BYTES;
    if (!context || EVP_DigestSignInit(context, NULL, NULL, NULL, key->key) != 1 ||
        EVP_DigestSign(context, ret_signature, &length, data, size) != 1 ||
        length != SIGNATURE_BYTES) {
        stop();
    }
    EVP_MD_CTX_free(context);
}

bool signature_matches(const struct signature_key *key, const void *data, size_t size,
                       const void *signature, size_t signature_size) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->key) != 1) {
        stop();
    }
    bool is_good = EVP_DigestVerify(context, signature, signature_size, data, size) == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}
