/* digest.h: SHA-256, HMAC, CRC-32C and random identifiers (OpenSSL's EVP and RAND). Any thread. */
#pragma once

#include "lib/base.h"

/* Lower-case hexadecimal SHA-256 of the bytes: 64 characters and NUL. */
void digest_sha256(const void *data, size_t size, char hex[static 65]);
/* The same, piece by piece. */
struct digest;
struct digest *digest_new(void);
void digest_add(struct digest *digest, const void *data, size_t size);
void digest_end(struct digest *digest, char hex[static 65]); /* also frees it */
void digest_freep(struct digest **digest);                   /* for AUTO; accepts NULL */

/* SHA-256 of the file of this process's program. False: it cannot be read to its end. */
bool digest_program(char hex[static 65]);

/* HMAC-SHA256 (RFC 2104) of the bytes. */
void digest_hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
                        unsigned char mac[static 32]);

/* CRC-32C (Castagnoli; of "123456789": e3069283). crc: the sum of the bytes before, 0 at the start.
 * Detects accidental damage, not forgery. */
uint32_t digest_crc32c(uint32_t crc, const void *data, size_t size);

/* `bytes` random bytes from the system's generator as 2 * bytes hexadecimal characters; the caller
 * frees. Aborts when the system has none: a guessable token is worse than no job. */
char *digest_random(size_t bytes);

/* True when the texts are equal, in a time that does not depend on where they differ. */
bool digest_equal(const char *a, const char *b);
