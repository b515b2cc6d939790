// SPDX-License-Identifier: Apache-2.0
/* The suite of stores in a bucket of a real server of S3, Ceph's. */
#include "tests/conformance/store_server.h"
#include "tests/conformance/store_suite.h"
#include "tests/test.h"

static struct store_server s3;

static void s3_starts(void) {
    CHECK(store_server_start(&s3, "s3"));
}

static void suite(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    CHECK_OK(store_open("s3://films/some folder/0", /* writes= */ true, &store, &err), &err);
    CHECK(store && store_features(store).creates);
    if (store) {
        /* 1,024 bytes with the path's. */
        test_failures += store_suite(store, 1024 - strlen("some folder/0/"));
    }
}

int main(void) {
    TEST(s3_starts);
    if (s3.folder) {
        TEST(suite);
        store_server_stop(&s3);
    }
    return TEST_END();
}
