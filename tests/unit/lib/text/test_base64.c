// SPDX-License-Identifier: Apache-2.0
#include "lib/text/base64.h"

#include "tests/test.h"

#include <stdlib.h>

static void test_both_ways(void) {
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"\xff\xfe", "//4="},
                                          {"fooba", "Zm9vYmE="}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *encoded = base64_encode(rows[i][0], strlen(rows[i][0]));
        AUTO(text_freep) char *decoded = NULL;
        size_t size = 0;
        CHECK_STR(encoded, rows[i][1]);
        CHECK_OK(base64_decode(rows[i][1], &decoded, &size, &err), &err);
        CHECK_INT(size, strlen(rows[i][0]));
        CHECK_STR(decoded, rows[i][0]);
    }
}

static void test_what_is_refused(void) {
    static const char *const rows[] = {
        "Z", "Zg=", "Zg", "Z===", "====", "Zg==Zg==", "Z*==", "Zg=a"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char *decoded = NULL;
        size_t size = 0;
        CHECK_INT(base64_decode(rows[i], &decoded, &size, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
    struct error err = {0};
    AUTO(text_freep) char *decoded = NULL;
    size_t size = 0;
    CHECK_OK(base64_decode("Zm9v\n Ym\tFy\n", &decoded, &size, &err), &err);
    CHECK_STR(decoded, "foobar");
}

int main(void) {
    TEST(test_both_ways);
    TEST(test_what_is_refused);
    return TEST_END();
}
