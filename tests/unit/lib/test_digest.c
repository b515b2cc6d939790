// SPDX-License-Identifier: Apache-2.0
#include "lib/digest.h"
#include "tests/test.h"

#include <stdlib.h>

static void sha256_of_known_texts(void) {
    char hex[65];
    digest_sha256("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* The check value of the catalogues, and RFC 3720's examples. */
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

int main(void) {
    TEST(sha256_of_known_texts);
    TEST(crc32c_of_known_bytes);
    TEST(random_texts_differ);
    return TEST_END();
}
