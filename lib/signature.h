/* signature.h: signatures by ed25519 (RFC 8032) with OpenSSL: keys as PEM, PKCS#8 for private ones
 * ("openssl genpkey -algorithm ed25519"), SubjectPublicKeyInfo for public ones ("openssl pkey
 * -pubout"). Any thread. */
#pragma once

#include "lib/error.h"

enum { SIGNATURE_BYTES = 64, SIGNATURE_PEM_MAX = 16 << 10 };

struct signature_key;

/* INVALID: not such a key; encrypted keys are refused. pem ends with a NUL and is not kept. */
NODISCARD int signature_key_read_private(const char *pem, struct signature_key **ret_key,
                                         struct error *err);
NODISCARD int signature_key_read_public(const char *pem, struct signature_key **ret_key,
                                        struct error *err);
void signature_key_free(struct signature_key *key); /* accepts NULL */
void signature_key_freep(struct signature_key **key);

/* SHA-256 of the public key (DER) in hex. */
void signature_key_id(const struct signature_key *key, char ret_id[static 65]);

/* With a private key. */
void signature_sign(const struct signature_key *key, const void *data, size_t size,
                    unsigned char ret_signature[static SIGNATURE_BYTES]);
/* With either kind of key. */
bool signature_matches(const struct signature_key *key, const void *data, size_t size,
                       const void *signature, size_t signature_size);
