// SPDX-License-Identifier: Apache-2.0
/* The suite of stores in a bucket of a real server of S3, Ceph's, and in the same bucket by
 * Google's interface (tests/s3/google.py). */
#include "tests/conformance/store_server.h"
#include "tests/conformance/store_suite.h"
#include "tests/test.h"

static struct store_server s3;

static void s3_starts(void) {
    CHECK(store_server_start(&s3, "s3"));
}

static void run_suite(const char *path) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    CHECK(store && store_features(store).creates);
    if (store) {
        /* 1,024 bytes with the path's. */
        test_failures += store_suite(store, 1024 - strlen("some folder/0/"));
    }
}

static void suite(void) {
    run_suite("s3://films/some folder/0");
}

static void google(void) {
    struct error err = {0};
    AUTO(text_freep) char *command = x_printf("tests/s3/start.sh google '%s'", s3.folder);
    AUTO(text_freep) char *file = file_join(s3.folder, "google.port");
    AUTO(text_freep) char *port = NULL;
    size_t size = 0;
    CHECK_INT(system(command), 0);
    CHECK_OK(file_read(file, 64, &port, &size, &err), &err);
    AUTO(text_freep) char *endpoint = x_printf("https://127.0.0.1:%s", port ? port : "");
    setenv("WINDLASS_GS_ENDPOINT", endpoint, 1);
    run_suite("gs://films/some folder/1");
}

int main(void) {
    TEST(s3_starts);
    if (s3.folder) {
        TEST(suite);
        TEST(google);
        store_server_stop(&s3);
    }
    return TEST_END();
}
