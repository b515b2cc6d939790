// SPDX-License-Identifier: Apache-2.0
#include "lib/digest.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16 };

static void to_hex(const unsigned char *bytes, size_t size, char *hex) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * size] = 0;
}

/* EVP_sha256() is looked up in OpenSSL's providers for each digest, which takes longer than a short
 * digest itself. */
static const EVP_MD *sha256;
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

static void find_sha256(void) {
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    sha256 = sha256 ? sha256 : EVP_sha256();
}

void digest_sha256(const void *data, size_t size, char hex[static 65]) {
    unsigned char hash[32];
    pthread_once(&sha256_once, find_sha256);
    if (EVP_Digest(data, size, hash, NULL, sha256, NULL) != 1) {
        fprintf(stderr, "OpenSSL cannot compute SHA-256\n");
        abort();
    }
    to_hex(hash, sizeof hash, hex);
}

struct digest {
    EVP_MD_CTX *context;
};

struct digest *digest_new(void) {
    struct digest *digest = x_calloc(1, sizeof *digest);
    digest->context = EVP_MD_CTX_new();
    if (!digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1) {
        fprintf(stderr, "OpenSSL cannot compute SHA-256\n");
        abort();
    }
    return digest;
}

void digest_add(struct digest *digest, const void *data, size_t size) {
    if (EVP_DigestUpdate(digest->context, data, size) != 1) {
        fprintf(stderr, "OpenSSL cannot compute SHA-256\n");
        abort();
    }
}

void digest_end(struct digest *digest, char hex[static 65]) {
    unsigned char hash[32];
    unsigned length = 0;
    if (EVP_DigestFinal_ex(digest->context, hash, &length) != 1 || length != sizeof hash) {
        fprintf(stderr, "OpenSSL cannot compute SHA-256\n");
        abort();
    }
    to_hex(hash, sizeof hash, hex);
    digest_freep(&digest);
}

void digest_freep(struct digest **digest) {
    if (*digest) {
        EVP_MD_CTX_free((*digest)->context);
        free(*digest);
        *digest = NULL;
    }
}

bool digest_program(char hex[static 65]) {
    AUTO(digest_freep) struct digest *digest = digest_new();
    AUTO(fd_closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    ssize_t got = -1;
    while (fd >= 0 && (got = read(fd, piece, PIECE_BYTES)) > 0) {
        digest_add(digest, piece, (size_t)got);
    }
    if (got < 0) {
        return false;
    }
    digest_end(TAKE(digest), hex);
    return true;
}

void digest_hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
                        unsigned char mac[static 32]) {
    unsigned length = 0;
    if (!HMAC(EVP_sha256(), key, (int)key_size, data, size, mac, &length) || length != 32) {
        fprintf(stderr, "OpenSSL cannot compute HMAC-SHA256\n");
        abort();
    }
}

/* crc_tables[k][b]: the CRC of byte b followed by k zero bytes: eight bytes take eight look-ups. */
static uint32_t crc_tables[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void make_crc_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
        }
        crc_tables[0][byte] = crc;
    }
    for (int k = 1; k < 8; k++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = crc_tables[k - 1][byte];
            crc_tables[k][byte] = crc >> 8 ^ crc_tables[0][crc & 255];
        }
    }
}

uint32_t digest_crc32c(uint32_t crc, const void *data, size_t size) {
    pthread_once(&crc_once, make_crc_tables);
    const unsigned char *at = data;
    crc = ~crc;
    for (; size >= 8; at += 8, size -= 8) {
        uint32_t next = 0;
        for (int k = 0; k < 8; k++) {
            unsigned byte = k < 4 ? at[k] ^ (crc >> 8 * k & 255) : at[k];
            next ^= crc_tables[7 - k][byte];
        }
        crc = next;
    }
    for (; size; at++, size--) {
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *at) & 255];
    }
    return ~crc;
}

char *digest_random(size_t bytes) {
    unsigned char *raw = x_malloc(bytes);
    if (RAND_bytes(raw, (int)bytes) != 1) {
        fprintf(stderr, "cannot get random numbers from the system\n");
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
