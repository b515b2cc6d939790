// SPDX-License-Identifier: Apache-2.0
/* What survives a power cut: a file's bytes are synced before it gets its name, and the folder that
 * holds the name before the write is reported as done. These calls are watched here. */
#include "agent/store/store.h"

#include "tests/unit/agent/data/tries.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALLS_MAX = 64 };
static char calls[CALLS_MAX + 1]; /* f: a file was synced, d: a folder was, n: a file was named */
static size_t call_count;
static int failing_errno; /* of the next fsync of a file */

static void record(char call) {
    calls[call_count] = call;
    call_count += call_count + 1 < CALLS_MAX;
}

static void *original(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    CHECK(function != NULL);
    return function;
}

/* These take the place of the C library's functions in this program. */
__attribute__((visibility("default"))) int fsync(int fd) {
    struct stat status;
    CHECK(fstat(fd, &status) == 0);
    record(S_ISDIR(status.st_mode) ? 'd' : 'f');
    if (failing_errno && !S_ISDIR(status.st_mode)) {
        errno = failing_errno;
        failing_errno = 0;
        return -1;
    }
    int (*real)(int) = (int (*)(int))original("fsync");
    return real(fd);
}
__attribute__((visibility("default"))) int linkat(int from_fd, const char *from, int to_fd,
                                                  const char *to, int flags) {
    record('n');
    int (*real)(int, const char *, int, const char *, int) =
        (int (*)(int, const char *, int, const char *, int))original("linkat");
    return real(from_fd, from, to_fd, to, flags);
}
__attribute__((visibility("default"))) int renameat(int from_fd, const char *from, int to_fd,
                                                    const char *to) {
    record('n');
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))original("renameat");
    return real(from_fd, from, to_fd, to);
}

static void start_recording(void) {
    memset(calls, 0, sizeof calls);
    call_count = 0;
}

/* The calls of one write: the last of these are f, n, d in this order. */
static void check_order(void) {
    const char *file = strrchr(calls, 'f'), *name = strrchr(calls, 'n'), *dir = strrchr(calls, 'd');
    CHECK(file && name && dir && file < name && name < dir);
    if (!file || !name || !dir || file > name || name > dir) {
        printf("# calls: %s\n", calls);
    }
}

static void test_a_write_is_synced_before_it_is_named_and_its_folder_after(void) {
    static const enum store_put_mode ways[] = {STORE_CREATE, STORE_REPLACE};
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/sync");
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        start_recording();
        CHECK_OK(store_put(output, i == 0 ? "made" : "put", "x", 1, ways[i], &err), &err);
        check_order();
    }
}

/* A folder that is made for the object is itself a name in the folder above it. */
static void test_new_folders_are_synced_too(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/sync");
    start_recording();
    CHECK_OK(store_put(output, "a/b/c", "x", 1, STORE_CREATE, &err), &err);
    check_order();
    int folders = 0;
    for (const char *at = calls; *at; at++) {
        folders += *at == 'd';
    }
    CHECK(folders >= 3);
}

static void test_a_write_that_is_not_synced_has_failed(void) {
    struct error err = {0};
    struct store_info info;
    AUTO(store_freep) struct store *output = open_output("out/sync");
    start_recording();
    failing_errno = EIO;
    CHECK_INT(store_put(output, "broken", "x", 1, STORE_CREATE, &err), -1);
    CHECK(!strchr(calls, 'n'));
    err = (struct error){0};
    CHECK_INT(store_stat(output, "broken", &info, &err), -1);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
}

int main(void) {
    fixtures_start("path_sync");
    TEST(test_a_write_is_synced_before_it_is_named_and_its_folder_after);
    TEST(test_new_folders_are_synced_too);
    TEST(test_a_write_that_is_not_synced_has_failed);
    return TEST_END();
}
