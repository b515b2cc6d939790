// SPDX-License-Identifier: Apache-2.0
/* The suite of stores in a container of a real Azurite, and behind broken_store without faults. */
#include "agent/store/local_file.h"
#include "agent/store/stored_file.h"
#include "tests/broken_store.h"
#include "tests/conformance/store_server.h"
#include "tests/conformance/store_suite.h"
#include "tests/test.h"

static struct store_server azurite;

static void azurite_starts(void) {
    CHECK(store_server_start(&azurite, "azurite"));
}

static void run_on(const char *path, bool is_wrapped) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    CHECK(store && store_features(store).creates);
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

/* A copy of an object, for programs that need a file; nothing remains of it. */
static void check_copy(struct store *store, const char *name, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *wanted = x_malloc(size + 1), *got = NULL;
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    struct local_file file = {0};
    size_t got_size = 0;
    for (size_t i = 0; i < size; i++) {
        wanted[i] = (char)(i * 2654435761u >> 13);
    }
    CHECK_OK(store_upload_open(store, name, &upload, &err), &err);
    CHECK_OK(store_upload_add(upload, wanted, size, &err), &err);
    CHECK_OK(store_upload_commit(upload, STORE_REPLACE, &err), &err);
    if (local_file_make(store, name, &file, &err) < 0) {
        CHECK_OK(-1, &err);
        return;
    }
    CHECK(text_starts(file.path, file.folder) && text_ends(file.path, name));
    CHECK_OK(file_read(file.path, size + 1, &got, &got_size, &err), &err);
    CHECK(got_size == size && memcmp(got, wanted, size) == 0);
    AUTO(text_freep) char *folder = x_strdup(file.folder);
    CHECK_INT(access(folder, F_OK), 0);
    local_file_release(&file);
    CHECK_INT(access(folder, F_OK), -1);
}

static void copies(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    AUTO(stored_file_release) struct stored_file stored = {0};
    struct local_file file = {0};
    CHECK_OK(store_open("az://films/tests/copies", /* writes= */ true, &store, &err), &err);
    check_copy(store, "empty", 0);
    check_copy(store, "2019/a b.jpg", 1000);
    check_copy(store, "just", 8 << 20);
    check_copy(store, "more", (8 << 20) - 1);
    check_copy(store, "large", (33 << 20) + 7);
    AUTO(text_freep) char *long_part = x_malloc(301);
    memset(long_part, 'x', 300);
    long_part[300] = 0;
    CHECK_OK(store_put(store, long_part, "x", 1, STORE_REPLACE, &err), &err);
    CHECK_INT(local_file_make(store, long_part, &file, &err), -1);
    CHECK(!store_error_is_machine(&err)); /* a name that no disk accepts is the item's fault */
    error_clear(&err);
    CHECK_INT(local_file_make(store, "none", &file, &err), -1);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    error_clear(&err);
    CHECK_INT(stored_file_open("az://films/tests/copies/", &stored, &err), -1);
    error_clear(&err);
    CHECK_OK(local_file_open("az://films/tests/copies/2019/a b.jpg", &file, &err), &err);
    CHECK(text_ends(file.path, "/a b.jpg"));
    local_file_release(&file);
    setenv("TMPDIR", "/nowhere", 1);
    CHECK_INT(local_file_make(store, "empty", &file, &err), -1);
    CHECK(strstr(err.text, "$TMPDIR") != NULL);
    unsetenv("TMPDIR");
}

int main(void) {
    TEST(azurite_starts);
    if (azurite.folder) {
        TEST(copies);
        TEST(plain);
        TEST(wrapped);
        store_server_stop(&azurite);
    }
    return TEST_END();
}
