// SPDX-License-Identifier: Apache-2.0
#include "lib/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void to_hex(const unsigned char *bytes, size_t size, char *hex) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * size] = 0;
}

void digest_sha256(const void *data, size_t size, char hex[static 65]) {
    unsigned char hash[32];
    if (EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL) != 1) {
        fprintf(stderr, "OpenSSL cannot compute SHA-256\n");
        abort();
    }
    to_hex(hash, sizeof hash, hex);
}

char *digest_random(size_t bytes) {
    unsigned char *raw = x_malloc(bytes);
    if (RAND_bytes(raw, (int)bytes) != 1) {
        fprintf(stderr, "no random numbers from the system\n");
        abort();
    }
    char *hex = x_malloc(2 * bytes + 1);
    to_hex(raw, bytes, hex);
    OPENSSL_cleanse(raw, bytes);
    free(raw);
    return hex;
}

bool digest_equal(const char *a, const char *b) {
    size_t length = strlen(a);
    return strlen(b) == length && CRYPTO_memcmp(a, b, length) == 0;
}
