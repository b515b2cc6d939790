// SPDX-License-Identifier: Apache-2.0
#include "lib/digest.h"
#include "tests/test.h"

#include <stdlib.h>

static void sha256_of_known_texts(void) {
    char hex[65];
    digest_sha256("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* RFC 4231, cases 1, 2 and 6. */
static void hmac_of_known_bytes(void) {
    static const struct {
        const char *key, *data, *wanted;
        size_t key_size; /* the key is one byte, repeated */
    } rows[] = {
        {"\x0b", "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
         20},
        {"Jefe", "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", 0},
        {"\xaa", "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", 131},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char mac[32], key[131];
        char hex[65];
        memset(key, rows[i].key[0], sizeof key);
        digest_hmac_sha256(rows[i].key_size ? (const char *)key : rows[i].key,
                           rows[i].key_size ? rows[i].key_size : strlen(rows[i].key), rows[i].data,
                           strlen(rows[i].data), mac);
        for (int b = 0; b < 32; b++) {
            snprintf(hex + 2 * b, 3, "%02x", mac[b]);
        }
        CHECK_STR(hex, rows[i].wanted);
    }
}

/* The usual check value, and RFC 3720's examples. */
static void crc32c_of_known_bytes(void) {
    unsigned char bytes[32] = {0};
    CHECK_INT(digest_crc32c(0, "123456789", 9), 0xE3069283u);
    CHECK_INT(digest_crc32c(0, bytes, 32), 0x8A9136AAu);
    memset(bytes, 255, 32);
    CHECK_INT(digest_crc32c(0, bytes, 32), 0x62A8AB43u);
    for (int i = 0; i < 32; i++) {
        bytes[i] = (unsigned char)i;
    }
    CHECK_INT(digest_crc32c(0, bytes, 32), 0x46DD794Eu);
    for (size_t cut = 0; cut <= 32; cut++) {
        uint32_t crc = digest_crc32c(0, bytes, cut);
        CHECK_INT(digest_crc32c(crc, bytes + cut, 32 - cut), 0x46DD794Eu);
    }
    CHECK_INT(digest_crc32c(0, "", 0), 0);
}

static void random_texts_differ(void) {
    AUTO(text_freep) char *a = digest_random(16), *b = digest_random(16);
    CHECK_INT(strlen(a), 32);
    CHECK(strspn(a, "0123456789abcdef") == 32 && !digest_equal(a, b) && digest_equal(a, a));
}

static void a_beginning_is_not_equal(void) {
    CHECK(digest_equal("", "") && digest_equal("token", "token"));
    CHECK(!digest_equal("token", "token2") && !digest_equal("token2", "token"));
    CHECK(!digest_equal("", "token") && !digest_equal("token", "tokem"));
}

int main(void) {
    TEST(sha256_of_known_texts);
    TEST(hmac_of_known_bytes);
    TEST(crc32c_of_known_bytes);
    TEST(random_texts_differ);
    TEST(a_beginning_is_not_equal);
    return TEST_END();
}
