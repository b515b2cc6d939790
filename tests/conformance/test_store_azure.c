// SPDX-License-Identifier: Apache-2.0
/* The suite of stores in a container of a real Azurite, and behind broken_store without faults. */
#include "tests/azurite/azurite.h"
#include "tests/broken_store.h"
#include "tests/conformance/store_suite.h"
#include "tests/test.h"

static char *azurite;

static void azurite_starts(void) {
    azurite = azurite_start();
    CHECK(azurite != NULL);
}

static void run_on(const char *path, bool is_wrapped) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    CHECK(store && store_can(store).creates);
    if (store && is_wrapped) {
        store = broken_store(TAKE(store), &(struct broken_options){.delay_ms_max = 1});
    }
    if (store) {
        /* 1,024 characters with the path's. */
        test_failures += store_suite(store, 1024 - strlen("some folder/0/"));
    }
}

static void plain(void) {
    run_on("az://films/tests/some folder/0", false);
}

static void wrapped(void) {
    run_on("az://results/tests/some folder/1", true);
}

int main(void) {
    TEST(azurite_starts);
    if (azurite) {
        TEST(plain);
        TEST(wrapped);
        azurite_stop(&azurite);
    }
    return TEST_END();
}
